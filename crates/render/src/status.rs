//! What the root Kptfile tells about a render.

use lanai_krm::ResultItem;
use lanai_krm::kptfile::{Condition, ConditionStatus, RenderStatus, StepResult};
use lanai_krm::package::File;
use lanai_krm::result::Severity;
use lanai_krm::{Kptfile, Package, kptfile};
use lanai_types::{ByteSize, SafePath};

use crate::options::RenderLimits;
use crate::render::Outcome;

/// The type of the condition.
const RENDERED: &str = "Rendered";

/// Sets the condition and the steps in the root Kptfile. A package without one, or with one that cannot be read any more, is left
/// as it is. Where there is no room for the steps, the condition is set alone.
///
/// A render that changed nothing (`before` is what it began with) leaves the reports of an earlier one on the same steps: they tell how
/// the package came to be, and whoever renders what was rendered finds the same bytes.
///
/// # Errors
/// When there is no room for the condition either, or it cannot be set in this Kptfile.
pub(crate) fn write(
    package: &mut Package,
    before: &Package,
    outcome: &Outcome,
    steps: &RenderStatus,
    limits: &RenderLimits,
) -> Result<(), String> {
    let Ok(path) = kptfile::FILE_NAME.parse::<SafePath>() else { return Ok(()) };
    // Bytes that are no text would not come back as they are.
    let Some((file, text)) = package.get(&path).and_then(|file| Some((file, file.text()?))) else {
        return Ok(());
    };
    let Ok(kptfile) = Kptfile::parse(text) else { return Ok(()) };
    if matches!(outcome, Outcome::Success) && tells_already(&kptfile, steps) && package == before {
        return Ok(());
    }
    let mode = file.mode();
    let ran = !steps.mutation_steps.is_empty() || !steps.validation_steps.is_empty();
    let told = |condition: Condition, steps: Option<RenderStatus>| {
        let mut kptfile = kptfile.clone();
        let told = kptfile.edit(|fields| {
            let status = fields.status.get_or_insert_default();
            match status.conditions.iter_mut().find(|old| old.condition_type == RENDERED) {
                Some(old) => *old = condition,
                None => status.conditions.push(condition),
            }
            status.render_status = steps;
        });
        told.map(|()| File::new(kptfile.to_string().into_bytes(), mode)).map_err(|error| error.to_string())
    };
    let whole = told(condition(outcome), ran.then(|| steps.clone()))?;
    let Err(error) = package.insert(path.clone(), whole) else { return Ok(()) };
    let mut short = condition(outcome);
    short.message = beginning(&short.message, limits.max_status_stderr);
    let note = format!("the steps were left out: {error}");
    short.message = if short.message.is_empty() { note } else { format!("{}\n{note}", short.message) };
    package.insert(path, told(short, None)?).map(|_| ()).map_err(|error| error.to_string())
}

/// Whether a Kptfile tells of a successful render by the same steps; of mutators, what they reported does not count.
fn tells_already(kptfile: &Kptfile, steps: &RenderStatus) -> bool {
    let Some(status) = &kptfile.fields().status else { return false };
    let rendered = status.conditions.iter().find(|condition| condition.condition_type == RENDERED);
    let (Some(rendered), Some(told)) = (rendered, &status.render_status) else { return false };
    let who = |step: &StepResult| {
        (
            step.name.clone(),
            step.image.clone(),
            step.exec.clone(),
            step.exit_code,
            step.execution_error.clone(),
        )
    };
    *rendered == condition(&Outcome::Success)
        && told.error_summary.is_empty()
        && told.validation_steps == steps.validation_steps
        && told.mutation_steps.len() == steps.mutation_steps.len()
        && told.mutation_steps.iter().zip(&steps.mutation_steps).all(|(one, other)| who(one) == who(other))
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

/// As much of a text as may be kept; where something is left out, a last line says how much.
pub(crate) fn beginning(text: &str, limit: ByteSize) -> String {
    if limit.admits(text.len()) {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(usize::try_from(limit.get()).unwrap_or(usize::MAX));
    let (kept, left) = text.split_at(end);
    let line_break = if kept.is_empty() || kept.ends_with('\n') { "" } else { "\n" };
    format!("{kept}{line_break}... ({} more bytes were left out)\n", left.len())
}

/// As many results as may be kept; where some are left out, a last one says how many.
pub(crate) fn first<'r>(
    results: impl Iterator<Item = &'r ResultItem> + Clone,
    limits: &RenderLimits,
) -> Vec<ResultItem> {
    let kept = results.clone().take(limits.max_status_results).map(|item| ResultItem {
        message: beginning(&item.message, limits.max_status_stderr),
        ..item.clone()
    });
    let mut kept: Vec<ResultItem> = kept.collect();
    let left = results.skip(limits.max_status_results).count();
    if left > 0 {
        let message = format!("... ({left} more results were left out)");
        kept.push(ResultItem { message, severity: Some(Severity::Info), ..ResultItem::default() });
    }
    kept
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_counted() {
        let check = |text: &str, limit: u64| beginning(text, ByteSize::bytes(limit));
        assert_eq!(check("ab\ncd\n", 6), "ab\ncd\n", "exactly at the limit");
        assert_eq!(check("ab\ncd\n", 5), "ab\ncd\n... (1 more bytes were left out)\n");
        assert_eq!(check("ab\ncd\n", 3), "ab\n... (3 more bytes were left out)\n");
        assert_eq!(check("aé", 2), "a\n... (2 more bytes were left out)\n", "letters stay whole");
        assert_eq!(check("ab", 0), "... (2 more bytes were left out)\n");
        assert_eq!(check("", 0), "");
    }
}
