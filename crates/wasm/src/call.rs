//! One run of a module.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use lanai_evaluate::wire::Sent;
use lanai_evaluate::{Deadline, Error, Failed, Failing, Response, Variable};
use lanai_types::ByteSize;
use tokio::sync::oneshot;
use wasmtime::{Store, Trap, UpdateDeadline};

use crate::control::Control;
use crate::modules::{Modules, Ready, START};
use crate::state::State;
use crate::wasi::{Exited, TooMuch};
use crate::{NAME, Program, WasmLimits, source};

/// What is to be run.
pub(crate) struct Call {
    pub program: Program,
    pub sent: Sent,
    pub variables: Vec<Variable>,
    pub limits: WasmLimits,
    pub modules: Arc<Modules>,
}

/// Ends the run when nobody waits for it, and waits for its end.
struct Owner(Control);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Says that the run has ended, whatever became of it.
struct Ending(Control);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Runs a module on a thread of its own.
pub(crate) async fn run(call: Call, deadline: &Deadline) -> Result<Response, Error> {
    if deadline.cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let max_time = call.limits.max_time;
    let control = Control::new(call.modules.engine().clone());
    let (sender, mut answer) = oneshot::channel();
    let (start, begun) = oneshot::channel();
    let inner = control.clone();
    let thread = thread::Builder::new().name(NAME.into()).spawn(move || {
        let ending = Ending(inner);
        // Nobody listens when the future was dropped.
        let _ = sender.send(work(call, start, &ending.0));
    });
    thread.map_err(|cause| Error::Infrastructure(format!("cannot start a thread: {cause}")))?;
    let owner = Owner(control);
    // The limit counts from when the module is compiled, the deadline from before.
    let limit = async {
        if begun.await.is_err() {
            return std::future::pending().await;
        }
        tokio::time::sleep(max_time).await;
    };
    let over = tokio::select! {
        done = &mut answer => return done.unwrap_or_else(|_| Err(gone())),
        () = deadline.cancel.cancelled() => None,
        () = tokio::time::sleep_until(deadline.at.into()) => Some(deadline.limit),
        () = limit => Some(max_time),
    };
    let control = owner.0.clone();
    let stopped = tokio::task::spawn_blocking(move || control.stop()).await;
    stopped.map_err(|cause| Error::Infrastructure(format!("cannot end a module: {cause}")))?;
    match over {
        None => Err(Error::Cancelled),
        Some(limit) => {
            let said = answer.try_recv().ok().and_then(Result::err);
            Err(Error::Timeout {
                limit,
                stderr: said.map(|error| error.stderr().to_owned()).unwrap_or_default(),
            })
        }
    }
}

fn gone() -> Error {
    Error::Infrastructure("the thread of a module is gone".into())
}

fn work(call: Call, start: oneshot::Sender<()>, control: &Control) -> Result<Response, Error> {
    let Call { program, sent, variables, limits, modules } = call;
    let module = source::read(&program.path, limits.max_module)?;
    let ready = modules.get(&module, &program.path.display().to_string())?;
    drop(module);
    let state = State::new(control.clone(), sent.text().to_owned(), program, &variables, &limits);
    let mut store = Store::new(modules.engine(), state);
    store.limiter(|state| &mut state.limiter);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|context| {
        context.data().control.check()?;
        Ok(UpdateDeadline::Continue(1))
    });
    // Whoever ends it from now on does so after the deadline was set, so that it is seen.
    let begun = control.begin().map_err(wasmtime::Error::from);
    let ran = begun.and_then(|()| {
        // Nobody listens when the call was ended.
        let _ = start.send(());
        execute(&ready, &mut store)
    });
    answer(ran, store.into_data(), &sent, &limits)
}

fn execute(ready: &Ready, store: &mut Store<State>) -> wasmtime::Result<()> {
    let instance = ready.instantiate(&mut *store)?;
    instance.get_typed_func::<(), ()>(&mut *store, START)?.call(&mut *store, ())
}

/// What came of it.
fn answer(
    ran: wasmtime::Result<()>,
    state: State,
    sent: &Sent,
    limits: &WasmLimits,
) -> Result<Response, Error> {
    let stderr = String::from_utf8_lossy(&state.messages.bytes).into_owned();
    let failed = |why, exit_code, results| {
        Err(Error::Failed(Box::new(Failed { why, exit_code, results, stderr: stderr.clone() })))
    };
    let beyond = |what: &str, limit: ByteSize, name: &str| {
        Failing::Limit(format!("it {what} more than the {limit} of {name}"))
    };
    let read = || {
        let text = String::from_utf8(state.output.bytes);
        let text = text.map_err(|cause| Failing::Output(cause.to_string()))?;
        Ok::<_, Failing>(sent.receive(&text)?)
    };
    match End::of(ran) {
        End::Interrupted => Err(Error::Timeout { limit: Duration::ZERO, stderr }),
        End::Flooded => failed(beyond("wrote", limits.max_output, "max_output"), 1, Vec::new()),
        End::Exit(0) => match read() {
            Ok(list) => Ok(Response { list, stderr, evaluator: NAME, exit_code: 0 }),
            Err(why) => failed(why, 1, Vec::new()),
        },
        End::Exit(_) | End::Trap(_) if state.limiter.exceeded => {
            failed(beyond("took", limits.max_memory, "max_memory"), 1, Vec::new())
        }
        End::Exit(code) => {
            failed(Failing::Exit(code), code, read().map(|list| list.results).unwrap_or_default())
        }
        End::Trap(what) => failed(Failing::Trap(what), 1, Vec::new()),
    }
}

/// How a module ended.
enum End {
    /// With this code.
    Exit(i32),
    /// It did what cannot be done.
    Trap(String),
    /// It wrote more than it may.
    Flooded,
    /// Somebody ended it.
    Interrupted,
}

impl End {
    fn of(ran: wasmtime::Result<()>) -> Self {
        let Err(error) = ran else { return Self::Exit(0) };
        if let Some(Exited(code)) = error.downcast_ref() {
            return Self::Exit(*code);
        }
        if error.is::<TooMuch>() {
            return Self::Flooded;
        }
        match error.downcast_ref::<Trap>() {
            Some(Trap::Interrupt) => Self::Interrupted,
            Some(trap) => {
                let text = trap.to_string();
                Self::Trap(text.strip_prefix("wasm trap: ").unwrap_or(&text).to_owned())
            }
            None => Self::Trap(format!("{error:#}")),
        }
    }
}
