//! What modules can ask for.

use std::time::Duration;

use lanai_evaluate::Failing;
use lanai_wasm::Program;

use crate::{Desk, failed, request, soon};

/// Runs what says something to its standard error output and nothing else.
async fn said(start: &str) -> String {
    let error = failed(Desk::new(start).run().await.unwrap_err());
    assert_eq!(error.why, Failing::Silent, "{error:?}");
    error.stderr
}

#[tokio::test]
async fn arguments_are_its_name_and_what_is_given() {
    let desk = Desk::new(
        "(drop (call $counts (i32.const 2000) (i32.const 2004))) \
         (drop (call $args (i32.const 3000) (i32.const 4000))) \
         (call $say (i32.const 2) (i32.load (i32.const 3004)) (i32.const 3)) \
         (call $say (i32.const 2) (i32.const 4000) (i32.load (i32.const 2004))) \
         (call $exit (i32.load (i32.const 2000)))",
    );
    let program = Program { arguments: vec!["a b".to_owned(), String::new()], ..desk.program() };
    let error = failed(desk.wasm().run(program, request(), &soon()).await.unwrap_err());
    assert_eq!((error.why, error.stderr.as_str()), (Failing::Exit(3), "a bfn.wasm\0a b\0\0"));
}

#[tokio::test]
async fn clocks_go_on_and_chance_is_not_nothing() {
    // It says what is wrong, by the number of the check.
    let desk = Desk::new(
        "(drop (call $time (i32.const 1) (i64.const 0) (i32.const 2000))) \
         (i64.store (i32.const 3000) (i64.const 7)) \
         (i64.store (i32.const 3024) (i64.const 20000000)) (i32.store (i32.const 3016) (i32.const 1)) \
         (if (call $poll (i32.const 3000) (i32.const 4000) (i32.const 1) (i32.const 5000)) (then (call $exit (i32.const 1)))) \
         (if (i32.ne (i32.load (i32.const 5000)) (i32.const 1)) (then (call $exit (i32.const 2)))) \
         (if (i64.ne (i64.load (i32.const 4000)) (i64.const 7)) (then (call $exit (i32.const 3)))) \
         (drop (call $time (i32.const 1) (i64.const 0) (i32.const 2008))) \
         (if (i64.lt_u (i64.sub (i64.load (i32.const 2008)) (i64.load (i32.const 2000))) (i64.const 20000000)) (then (call $exit (i32.const 4)))) \
         (drop (call $time (i32.const 0) (i64.const 0) (i32.const 2016))) \
         (if (i64.lt_u (i64.load (i32.const 2016)) (i64.const 1700000000000000000)) (then (call $exit (i32.const 5)))) \
         (if (i32.ne (call $time (i32.const 2) (i64.const 0) (i32.const 2016)) (i32.const 58)) (then (call $exit (i32.const 6)))) \
         (drop (call $resolution (i32.const 0) (i32.const 2024))) \
         (if (i64.eqz (i64.load (i32.const 2024))) (then (call $exit (i32.const 7)))) \
         (drop (call $random (i32.const 6000) (i32.const 16))) \
         (if (i64.eq (i64.load (i32.const 6000)) (i64.load (i32.const 6008))) (then (call $exit (i32.const 8)))) \
         (drop (call $yield)) (call $copy)",
    );
    desk.run().await.unwrap();
}

#[tokio::test]
async fn streams_are_ready_and_of_no_kind() {
    // Waits for standard input, for a thousand seconds, and for what is not there; the first and the last are told.
    let desk = Desk::new(
        "(i32.store8 (i32.const 3008) (i32.const 1)) \
         (i64.store (i32.const 3072) (i64.const 1000000000000)) \
         (i32.store8 (i32.const 3104) (i32.const 2)) (i32.store (i32.const 3112) (i32.const 9)) \
         (if (call $poll (i32.const 3000) (i32.const 4000) (i32.const 3) (i32.const 5000)) (then (call $exit (i32.const 1)))) \
         (if (i32.ne (i32.load (i32.const 5000)) (i32.const 2)) (then (call $exit (i32.const 2)))) \
         (if (i32.load16_u (i32.const 4008)) (then (call $exit (i32.const 3)))) \
         (if (i32.ne (i32.load16_u (i32.const 4040)) (i32.const 8)) (then (call $exit (i32.const 4)))) \
         (i64.store (i32.const 2000) (i64.const -1)) \
         (if (call $about (i32.const 0) (i32.const 2000)) (then (call $exit (i32.const 5)))) \
         (if (i64.ne (i64.load (i32.const 2000)) (i64.const 0)) (then (call $exit (i32.const 6)))) \
         (if (i32.ne (call $about (i32.const 3) (i32.const 2000)) (i32.const 8)) (then (call $exit (i32.const 7)))) \
         (if (call $file (i32.const 1) (i32.const 2000)) (then (call $exit (i32.const 8)))) \
         (if (i32.ne (call $seek (i32.const 1) (i64.const 0) (i32.const 0) (i32.const 2000)) (i32.const 70)) (then (call $exit (i32.const 9)))) \
         (if (i32.ne (call $poll (i32.const 3000) (i32.const 4000) (i32.const 0) (i32.const 5000)) (i32.const 28)) (then (call $exit (i32.const 10)))) \
         (call $copy)",
    );
    let ran = tokio::time::timeout(Duration::from_mins(1), desk.run()).await.unwrap();
    ran.unwrap();
}

#[tokio::test]
async fn several_pieces_are_one_text() {
    let pieces = "(i32.store (i32.const 100) (i32.const 200)) (i32.store (i32.const 104) (i32.const 3)) \
                  (i32.store (i32.const 108) (i32.const 0)) (i32.store (i32.const 112) (i32.const 0)) \
                  (i32.store (i32.const 116) (i32.const 202)) (i32.store (i32.const 120) (i32.const 2)) \
                  (i32.store (i32.const 200) (i32.const 0x64636261)) \
                  (drop (call $write (i32.const 2) (i32.const 100) (i32.const 3) (i32.const 8))) \
                  (if (i32.ne (i32.load (i32.const 8)) (i32.const 5)) (then unreachable))";
    assert_eq!(said(pieces).await, "abccd");
}
