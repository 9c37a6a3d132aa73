//! Modules that mean harm.

use std::time::Duration;

use lanai_evaluate::{Deadline, Error, Failing};
use lanai_types::ByteSize;

use crate::{Desk, PRELUDE, WEB, failed, request, soon};

const ENDLESS: &str = "(loop $again (br $again))";
const SLEEP: &str = "(i64.store (i32.const 3024) (i64.const 1000000000000)) \
                     (drop (call $poll (i32.const 3000) (i32.const 4000) (i32.const 1) (i32.const 5000)))";

/// Says `begun`, then does this.
fn begun(desk: &Desk, then: &str) {
    let module = format!(
        "(module {PRELUDE} (data (i32.const 2000) \"begun\\0a\") (func (export \"_start\") \
         (call $say (i32.const 2) (i32.const 2000) (i32.const 6)) {then}))"
    );
    desk.put(&wat::parse_str(module).unwrap());
}

#[tokio::test]
async fn an_endless_loop() {
    let mut desk = Desk::new("");
    begun(&desk, ENDLESS);
    let short = Duration::from_millis(300);
    let check = |error: Error| match error {
        Error::Timeout { limit, stderr } => assert_eq!((limit, stderr.as_str()), (short, "begun\n")),
        other => panic!("{other:?}"),
    };
    // Compiled before, so that the deadline is that of the run.
    desk.limits.max_time = Duration::from_millis(1);
    assert!(matches!(desk.run().await.unwrap_err(), Error::Timeout { .. }));
    desk.limits.max_time = Duration::from_mins(1);
    let wasm = desk.wasm.limited(desk.limits);
    check(wasm.run(desk.program(), request(), &Deadline::after(short)).await.unwrap_err());
    desk.limits.max_time = short;
    check(desk.run().await.unwrap_err());
}

#[tokio::test]
async fn a_thousand_seconds_of_sleep() {
    // A subscription to a clock: its kind at 8, the clock at 16, the time at 24.
    let mut desk = Desk::new("");
    begun(&desk, SLEEP);
    desk.limits.max_time = Duration::from_millis(300);
    let error = desk.run().await.unwrap_err();
    assert!(matches!(&error, Error::Timeout { stderr, .. } if stderr == "begun\n"), "{error:?}");
}

#[tokio::test]
async fn two_gibibytes_of_memory() {
    let mut desk = Desk::new(
        "(if (i32.eq (memory.grow (i32.const 32768)) (i32.const -1)) (then unreachable)) (call $copy)",
    );
    desk.limits.max_memory = ByteSize::mib(256);
    let error = failed(desk.run().await.unwrap_err());
    assert_eq!(error.to_string(), "function exceeded a limit: it took more than the 256 MiB of max_memory");
    // Two pages and eight more, on the edge.
    desk.write("(if (i32.eq (memory.grow (i32.const 8)) (i32.const -1)) (then unreachable)) (call $copy)");
    desk.limits.max_memory = ByteSize::kib(640);
    desk.run().await.unwrap();
    desk.limits.max_memory = ByteSize::bytes(640 * 1024 - 1);
    assert!(matches!(failed(desk.run().await.unwrap_err()).why, Failing::Limit(_)));
    desk.put(&wat::parse_str("(module (memory 65536) (func (export \"_start\")))").unwrap());
    assert!(matches!(failed(desk.run().await.unwrap_err()).why, Failing::Limit(_)), "from the beginning");
}

#[tokio::test]
async fn calls_without_end() {
    let desk = Desk::new("");
    let module = format!("(module {PRELUDE} (func $f (call $f)) (func (export \"_start\") (call $f)))");
    desk.put(&wat::parse_str(module).unwrap());
    let error = failed(desk.run().await.unwrap_err());
    assert!(matches!(&error.why, Failing::Trap(what) if what.contains("stack")), "{error:?}");
}

#[tokio::test]
async fn a_gibibyte_of_output_and_of_messages() {
    let mut desk = Desk::new("");
    let flood = |fd: u32| {
        format!("(loop $again (call $say (i32.const {fd}) (i32.const 1024) (i32.const 65536)) (br $again))")
    };
    begun(&desk, &flood(1));
    desk.limits.max_output = ByteSize::mib(1);
    let error = failed(desk.run().await.unwrap_err());
    assert_eq!(error.to_string(), "function exceeded a limit: it wrote more than the 1 MiB of max_output");
    assert_eq!(error.stderr, "begun\n");
    desk.write(&flood(2));
    desk.limits.max_stderr = ByteSize::bytes(10);
    desk.limits.max_time = Duration::from_millis(500);
    let error = desk.run().await.unwrap_err();
    assert!(matches!(&error, Error::Timeout { stderr, .. } if stderr.len() == 10), "{error:?}");
    // On the edge.
    desk.write("(call $copy)");
    desk.limits.max_time = Duration::from_mins(1);
    let sent = lanai_evaluate::wire::send(&request().list).unwrap().text().len() as u64;
    desk.limits.max_output = ByteSize::bytes(sent);
    assert_eq!(desk.run().await.unwrap().list.items[0].to_string(), WEB);
    desk.limits.max_output = ByteSize::bytes(sent - 1);
    assert!(matches!(failed(desk.run().await.unwrap_err()).why, Failing::Limit(_)));
}

#[tokio::test]
async fn closed_pipes() {
    let close = "(drop (call $close (i32.const 0))) (drop (call $close (i32.const 1))) (drop (call $close (i32.const 2)))";
    let desk = Desk::new(&format!("{close} (call $copy) (call $exit (i32.const 4))"));
    assert_eq!(failed(desk.run().await.unwrap_err()).why, Failing::Exit(4));
}

/// Ends with the number that a call answers with.
async fn told(call: &str) -> Failing {
    let desk = Desk::new(&format!("(call $exit {call})"));
    failed(desk.run().await.unwrap_err()).why
}

#[tokio::test]
async fn files_and_networks_are_not_there() {
    // No folder is open, nothing can be opened, and there is nobody to talk to.
    for (call, errno) in [
        ("(call $prestat (i32.const 3) (i32.const 2000))", 8),
        (
            "(call $open (i32.const 3) (i32.const 0) (i32.const 2000) (i32.const 1) (i32.const 0) (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 3000))",
            76,
        ),
        ("(call $send (i32.const 3) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 8))", 52),
        ("(call $write (i32.const 3) (i32.const 0) (i32.const 1) (i32.const 8))", 8),
        ("(call $read (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))", 8),
    ] {
        assert_eq!(told(call).await, Failing::Exit(errno), "{call}");
    }
}

#[tokio::test]
async fn places_outside_of_its_memory_are_told() {
    // Pieces that are elsewhere, a piece that reaches beyond, the answer elsewhere, chance elsewhere.
    for call in [
        "(call $write (i32.const 1) (i32.const -4) (i32.const 1) (i32.const 8))",
        "(call $write (i32.const 1) (i32.const 131072) (i32.const 1) (i32.const 8))",
        "(block (result i32) (i32.store (i32.const 0) (i32.const 131071)) (i32.store (i32.const 4) (i32.const 2)) \
         (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8)))",
        "(block (result i32) (i32.store (i32.const 0) (i32.const 1)) (i32.store (i32.const 4) (i32.const -1)) \
         (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))",
        "(call $write (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 131069))",
        "(call $random (i32.const 131000) (i32.const 73))",
        "(call $time (i32.const 0) (i64.const 0) (i32.const -1))",
        "(call $poll (i32.const 131040) (i32.const 4000) (i32.const 1) (i32.const 5000))",
    ] {
        assert_eq!(told(call).await, Failing::Exit(21), "{call}");
    }
    let desk = Desk::new("");
    let module = "(module (import \"wasi_snapshot_preview1\" \"fd_close\" (func $close (param i32) (result i32))) \
                  (func (export \"_start\") (drop (call $close (i32.const 0)))))";
    desk.put(&wat::parse_str(module).unwrap());
    let error = failed(desk.run().await.unwrap_err());
    assert!(matches!(&error.why, Failing::Trap(what) if what.contains("shows no memory")), "{error:?}");
}

#[tokio::test]
async fn dying_halfway() {
    let half = "(i32.store (i32.const 0) (i32.const 1024)) (i32.store (i32.const 4) (i32.const 20)) \
                (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8))) \
                (call $say (i32.const 1) (i32.const 1024) (i32.const 20))";
    let desk = Desk::new(&format!("{half} (drop (i32.div_u (i32.const 1) (i32.const 0)))"));
    let error = failed(desk.run().await.unwrap_err());
    assert_eq!(error.to_string(), "function trapped: integer divide by zero");
    desk.write(&format!("{half} (drop (i32.load (i32.const -4)))"));
    let error = failed(desk.run().await.unwrap_err());
    assert_eq!(error.to_string(), "function trapped: out of bounds memory access");
    desk.write(&format!("{half} (call $exit (i32.const 5))"));
    assert_eq!(failed(desk.run().await.unwrap_err()).why, Failing::Exit(5));
    // What it wrote of a list is no list, though it says that all is well.
    desk.write(half);
    assert!(matches!(failed(desk.run().await.unwrap_err()).why, Failing::Output(_)));
}

#[tokio::test]
async fn tables_without_end() {
    let desk = Desk::new("");
    let module = "(module (table 10 funcref) (func (export \"_start\") \
                  (if (i32.eq (table.grow (ref.null func) (i32.const 999990)) (i32.const -1)) (then unreachable)) \
                  (if (i32.ne (table.grow (ref.null func) (i32.const 1)) (i32.const -1)) (then unreachable))))";
    desk.put(&wat::parse_str(module).unwrap());
    assert_eq!(failed(desk.run().await.unwrap_err()).why, Failing::Silent, "both were as they should be");
}

#[tokio::test]
async fn calling_off_and_going_away_end_the_module() {
    let desk = Desk::new("");
    begun(&desk, ENDLESS);
    let (wasm, deadline) = (desk.wasm(), soon());
    let token = deadline.cancel.clone();
    let later = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        token.cancel();
    };
    let (answer, ()) = tokio::join!(wasm.run(desk.program(), request(), &deadline), later);
    assert!(matches!(answer, Err(Error::Cancelled)), "{answer:?}");
    let error = wasm.run(desk.program(), request(), &deadline).await.unwrap_err();
    assert!(matches!(error, Error::Cancelled), "nothing is started after that");
    // Dropping waits for the end of the thread: this would not come back.
    let deadline = soon();
    let left =
        tokio::time::timeout(Duration::from_millis(500), wasm.run(desk.program(), request(), &deadline))
            .await;
    assert!(left.is_err(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_one_is_not_the_end_of_others() {
    let one = Desk::new("");
    begun(&one, ENDLESS);
    let two = Desk::new(
        "(local $i i32) (loop $again (local.set $i (i32.add (local.get $i) (i32.const 1))) \
         (br_if $again (i32.ne (local.get $i) (i32.const 2000000000)))) (call $copy)",
    );
    let wasm = one.wasm();
    let other = tokio::spawn({
        let (wasm, program) = (wasm.clone(), two.program());
        async move { wasm.run(program, request(), &soon()).await }
    });
    for _ in 0..10 {
        let error = wasm.run(one.program(), request(), &Deadline::after(Duration::from_millis(50))).await;
        assert!(matches!(error, Err(Error::Timeout { .. })), "{error:?}");
    }
    assert_eq!(other.await.unwrap().unwrap().list.items[0].to_string(), WEB);
}

/// Says that this process is the one that runs alone.
const ALONE: &str = "LANAI_TEST_WASM_ALONE";

#[tokio::test]
async fn no_thread_is_left() {
    if std::env::var_os(ALONE).is_none() {
        let this = std::env::current_exe().unwrap();
        #[allow(clippy::disallowed_methods, reason = "a test starts itself again, to be alone")]
        let mut command = std::process::Command::new(this);
        let ran = command.args(["--exact", "hostile::no_thread_is_left"]).env(ALONE, "1").output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        return;
    }
    let mut desk = Desk::new("");
    desk.limits.max_time = Duration::from_millis(200);
    for then in [ENDLESS, SLEEP] {
        begun(&desk, then);
        assert!(matches!(desk.run().await.unwrap_err(), Error::Timeout { .. }));
    }
    // What has said that it ended is gone in a moment.
    let start = std::time::Instant::now();
    loop {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        let left = names.filter(|name| name.trim() == "wasm").count();
        if left == 0 {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{left} threads go on");
        std::thread::yield_now();
    }
}
