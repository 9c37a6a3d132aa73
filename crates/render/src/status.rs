//! What the root Kptfile tells about a render.

use lanai_krm::kptfile::{Condition, ConditionStatus, RenderStatus, StepResult};
use lanai_krm::package::File;
use lanai_krm::{Kptfile, Package, kptfile};

use crate::render::Outcome;

/// The type of the condition.
const RENDERED: &str = "Rendered";

/// Sets the condition and the steps in the root Kptfile. A package without one, or with one that cannot be read any more, is left
/// as it is.
pub(crate) fn write(package: &mut Package, outcome: &Outcome, steps: &RenderStatus) {
    let Ok(path) = kptfile::FILE_NAME.parse() else { return };
    // Bytes that are no text would not come back as they are.
    let Some((file, text)) = package.get(&path).and_then(|file| Some((file, file.text()?))) else { return };
    let Ok(mut kptfile) = Kptfile::parse(text) else { return };
    let mode = file.mode();
    let ran = !steps.mutation_steps.is_empty() || !steps.validation_steps.is_empty();
    let steps = ran.then(|| steps.clone());
    let told = kptfile.set_condition(condition(outcome)).and_then(|()| kptfile.set_render_status(steps));
    if told.is_ok() {
        // A Kptfile that grows beyond a limit tells nothing.
        let _ = package.insert(path, File::new(kptfile.to_string().into_bytes(), mode));
    }
}

fn condition(outcome: &Outcome) -> Condition {
    let (status, reason, message) = match outcome {
        Outcome::Success => (ConditionStatus::True, "RenderSuccess", String::new()),
        Outcome::Failed(failure) | Outcome::Partial(failure) => {
            (ConditionStatus::False, "RenderFailed", failure.message.clone())
        }
    };
    Condition { condition_type: RENDERED.to_owned(), status, reason: reason.to_owned(), message }
}

/// A line for each step that failed, mutators first.
pub(crate) fn summary(steps: &RenderStatus) -> String {
    let all = steps.mutation_steps.iter().chain(&steps.validation_steps);
    let failed = all.filter(|step| step.exit_code != 0 || !step.execution_error.is_empty());
    failed.map(line).collect::<Vec<_>>().join("\n")
}

fn line(step: &StepResult) -> String {
    let name = [&step.name, &step.image, &step.exec].into_iter().find(|name| !name.is_empty());
    let name = name.map_or("", String::as_str);
    if step.execution_error.is_empty() {
        format!("{name}: exit code {}", step.exit_code)
    } else {
        format!("{name}: {}", step.execution_error)
    }
}
