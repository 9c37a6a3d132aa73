//! Modules that are functions, harmless ones and others.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod calls;
mod hostile;
mod modules;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use lanai_evaluate::{Deadline, Error, Failed, FunctionRef, Grants, Request, Response, Variable};
use lanai_krm::{Resource, ResourceList};
use lanai_testkit::in_time;
use lanai_wasm::{Program, Wasm, WasmLimits};
use tempfile::TempDir;

const WEB: &str = "apiVersion: v1 # core\nkind: Service\nmetadata:\n  name: web\n";

/// What all modules of the tests have: the calls, a memory of two pages, `$copy`, which writes what it reads, and `$say`, which writes to a descriptor.
const PRELUDE: &str = r#"
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_get" (func $prestat (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "sock_send" (func $send (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $counts (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $time (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_res_get" (func $resolution (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_fdstat_get" (func $about (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_filestat_get" (func $file (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_seek" (func $seek (param i32 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 2)
  (func $say (param $fd i32) (param $at i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func $copy
    (loop $again
      (i32.store (i32.const 0) (i32.const 1024))
      (i32.store (i32.const 4) (i32.const 60000))
      (if (i32.eqz (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
        (then (if (i32.load (i32.const 8))
          (then (call $say (i32.const 1) (i32.const 1024) (i32.load (i32.const 8))) (br $again)))))))
"#;

/// A module and who runs it.
struct Desk {
    folder: TempDir,
    limits: WasmLimits,
    wasm: Wasm,
}

impl Desk {
    /// A module that does this when it is started.
    fn new(start: &str) -> Self {
        let limits = WasmLimits { max_time: Duration::from_mins(1), ..WasmLimits::DEFAULT };
        let desk = Self { folder: tempfile::tempdir().unwrap(), limits, wasm: Wasm::new(limits) };
        desk.write(start);
        desk
    }

    fn write(&self, start: &str) {
        self.put(&wat::parse_str(format!("(module {PRELUDE} (func (export \"_start\") {start}))")).unwrap());
    }

    fn put(&self, module: &[u8]) {
        fs::write(self.path(), module).unwrap();
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("fn.wasm")
    }

    fn program(&self) -> Program {
        Program { path: self.path(), ..Program::default() }
    }

    fn wasm(&self) -> Wasm {
        Wasm::new(self.limits)
    }

    /// Runs it, which ends inside of its limit on time plus a second.
    async fn run(&self) -> Result<Response, Error> {
        let wasm = self.wasm.limited(self.limits);
        in_time(self.limits.max_time, async || wasm.run(self.program(), request(), &soon()).await).await
    }
}

fn request() -> Request {
    let list = ResourceList { items: vec![Resource::parse(WEB).unwrap()], ..ResourceList::default() };
    Request { function: FunctionRef::Image("any".into()), list, grants: Grants::default() }
}

fn granted(name: &str, value: &str) -> Request {
    let mut request = request();
    request.grants.variables.push(Variable { name: name.into(), value: value.into() });
    request
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_mins(2))
}

#[track_caller]
fn failed(error: Error) -> Failed {
    match error {
        Error::Failed(failed) => *failed,
        other => panic!("{other:?}"),
    }
}
