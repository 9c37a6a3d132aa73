//! A WASM module that is a function.

/// The text of a module that writes what it reads, with `9` for each `@`. With an argument it fails, and says so.
pub const MODULE: &str = r#"
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $counts (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 2)
  (data (i32.const 100) "it was told to fail\n")
  (func $say (param $fd i32) (param $at i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func (export "_start")
    (local $at i32) (local $end i32)
    (drop (call $counts (i32.const 16) (i32.const 20)))
    (if (i32.gt_u (i32.load (i32.const 16)) (i32.const 1))
      (then (call $say (i32.const 2) (i32.const 100) (i32.const 20)) (call $exit (i32.const 3))))
    (loop $again
      (i32.store (i32.const 0) (i32.const 1024))
      (i32.store (i32.const 4) (i32.const 65536))
      (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
      (if (i32.load (i32.const 8))
        (then
          (local.set $at (i32.const 1024))
          (local.set $end (i32.add (i32.const 1024) (i32.load (i32.const 8))))
          (loop $next
            (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 64))
              (then (i32.store8 (local.get $at) (i32.const 57))))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (br_if $next (i32.lt_u (local.get $at) (local.get $end))))
          (call $say (i32.const 1) (i32.const 1024) (i32.sub (local.get $end) (i32.const 1024)))
          (br $again))))))
"#;
