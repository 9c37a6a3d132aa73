//! When a repository is looked at.

use std::str::FromStr;
use std::time::Duration;

use croner::Cron;
use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::Value;

use super::POLL_EVERY;

/// When a repository is looked at.
pub(super) enum Schedule {
    /// Again and again after a while.
    Every(Duration),
    /// At the times of a table, as of cron, in UTC.
    Cron(Box<Cron>),
}

impl Schedule {
    /// What the object of a repository asks for.
    pub(super) fn of(object: &Value) -> Result<Self, String> {
        match object["spec"]["sync"]["schedule"].as_str().filter(|text| !text.is_empty()) {
            None => Ok(Self::Every(POLL_EVERY)),
            Some(text) => {
                let cron = Cron::from_str(text)
                    .map_err(|error| format!("spec.sync.schedule \"{text}\" cannot be used: {error}"))?;
                Ok(Self::Cron(Box::new(cron)))
            }
        }
    }

    /// How long from now until the next look.
    pub(super) fn next(&self, now: Timestamp) -> Duration {
        self.after(now, now)
    }

    fn after(&self, last: Timestamp, now: Timestamp) -> Duration {
        match self {
            Self::Every(wait) => {
                let passed = Duration::try_from(now.duration_since(last)).unwrap_or_default();
                wait.saturating_sub(passed)
            }
            Self::Cron(cron) => {
                let start = last.to_zoned(jiff::tz::TimeZone::UTC);
                let Ok(next) = cron.find_next_occurrence(&start, false) else { return POLL_EVERY };
                let left = next.timestamp().as_second() - now.as_second();
                Duration::from_secs(u64::try_from(left).unwrap_or(0))
            }
        }
    }

    /// How long until a repository is to be looked at; `None` if that is now.
    pub(super) fn due(&self, object: &DynamicObject, now: Timestamp) -> Option<Duration> {
        let status = &object.data["status"];
        if status["observedGeneration"].as_i64() != object.metadata.generation {
            return None;
        }
        let once = &object.data["spec"]["sync"]["runOnceAt"];
        let is_done = *once == status["observedRunOnceAt"];
        let mut wait = None;
        if once.is_string() && !is_done {
            if has_come(once, now) {
                return None;
            }
            wait = parse(once).map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
        }
        let last = parse(&status["lastFullSyncTime"])?;
        let is_ready = status["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|one| one["type"] == "Ready" && one["status"] == "True");
        if !is_ready {
            return None;
        }
        let regular = self.after(last, now);
        let wait = wait.map_or(regular, |wait| wait.min(regular));
        (!wait.is_zero()).then_some(wait)
    }
}

/// Whether a time has come.
pub(super) fn has_come(time: &Value, now: Timestamp) -> bool {
    parse(time).is_some_and(|at| at <= now)
}

fn parse(time: &Value) -> Option<Timestamp> {
    time.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(spec: &Value, status: &Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository",
            "metadata": {"name": "r", "generation": 2}, "spec": spec, "status": status,
        }))
        .unwrap()
    }

    fn ready(more: &Value) -> Value {
        let mut status = json!({"observedGeneration": 2, "lastFullSyncTime": "2026-01-01T00:00:00Z",
                                "conditions": [{"type": "Ready", "status": "True"}]});
        for (key, value) in more.as_object().unwrap() {
            status[key] = value.clone();
        }
        status
    }

    fn due(spec: &Value, status: &Value, now: &str) -> Option<u64> {
        let object = object(spec, status);
        let schedule = Schedule::of(&object.data).unwrap();
        schedule.due(&object, now.parse().unwrap()).map(|wait| wait.as_secs())
    }

    #[test]
    fn a_repository_is_looked_at_when_its_time_has_come() {
        let spec = || json!({});
        assert_eq!(due(&spec(), &ready(&json!({})), "2026-01-01T00:00:10Z"), Some(50));
        assert_eq!(due(&spec(), &ready(&json!({})), "2026-01-01T00:01:00Z"), None);
        assert_eq!(
            due(&spec(), &ready(&json!({"observedGeneration": 1})), "2026-01-01T00:00:01Z"),
            None,
            "it changed"
        );
        assert_eq!(due(&spec(), &json!({}), "2026-01-01T00:00:01Z"), None, "nobody looked yet");
        let cron = json!({"sync": {"schedule": "*/15 * * * *"}});
        assert_eq!(due(&cron, &ready(&json!({})), "2026-01-01T00:05:00Z"), Some(600));
        assert_eq!(due(&cron, &ready(&json!({})), "2026-01-01T00:15:00Z"), None);
        let once = json!({"sync": {"schedule": "0 0 1 1 *", "runOnceAt": "2026-01-01T00:00:30Z"}});
        assert_eq!(due(&once, &ready(&json!({})), "2026-01-01T00:00:10Z"), Some(20));
        assert_eq!(due(&once, &ready(&json!({})), "2026-01-01T00:00:30Z"), None);
        let done = ready(&json!({"observedRunOnceAt": "2026-01-01T00:00:30Z"}));
        assert!(due(&once, &done, "2026-01-01T00:00:31Z").is_some());
    }

    #[test]
    fn a_schedule_that_is_none_is_told() {
        let object = object(&json!({"sync": {"schedule": "every day"}}), &json!({}));
        assert!(Schedule::of(&object.data).err().unwrap().contains("every day"));
    }
}
