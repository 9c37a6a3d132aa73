//! What evaluating takes, while it goes on.

use kube_cel::cel::Value;
use kube_cel::cel::objects::Key;

use crate::loops::optional;
use crate::{Budget, Stop};

/// How many steps are made until it is asked again whether anybody waits.
const LOOK: u64 = 4096;
/// What a value takes beside its text.
const VALUE: u64 = 48;
/// How many bytes of texts are copied or compared in one step.
pub(crate) const TEXT: u64 = 32;

/// Counts steps and bytes, and says when it is enough.
pub(crate) struct Meter<'a> {
    budget: Budget,
    go_on: &'a dyn Fn() -> bool,
    steps: u64,
    made: u64,
    next_look: u64,
}

impl<'a> Meter<'a> {
    pub fn new(budget: Budget, go_on: &'a dyn Fn() -> bool) -> Self {
        Self { budget, go_on, steps: 0, made: 0, next_look: 0 }
    }

    /// The steps that were made.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Takes steps.
    pub fn step(&mut self, steps: u64) -> Result<(), Stop> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.budget.max_steps {
            return Err(Stop::Steps);
        }
        if self.steps >= self.next_look {
            self.next_look = self.steps.saturating_add(LOOK);
            self.look()?;
        }
        Ok(())
    }

    fn look(&self) -> Result<(), Stop> {
        if (self.go_on)() { Ok(()) } else { Err(Stop::CalledOff) }
    }

    /// Makes something of that many bytes. Has to be asked before it is made.
    pub fn make(&mut self, bytes: u64) -> Result<(), Stop> {
        self.made = self.made.saturating_add(bytes);
        if self.made > self.budget.max_made { Err(Stop::Made) } else { Ok(()) }
    }

    /// The bytes of a value, which takes a step for each value in it.
    pub fn size(&mut self, value: &Value) -> Result<u64, Stop> {
        self.step(1)?;
        let mut bytes = VALUE;
        match value {
            Value::List(items) => {
                for item in items.iter() {
                    bytes = bytes.saturating_add(self.size(item)?);
                }
            }
            Value::Map(map) => {
                for (key, value) in map.map.iter() {
                    let key = match key {
                        Key::String(text) => VALUE.saturating_add(text.len() as u64),
                        Key::Int(_) | Key::Uint(_) | Key::Bool(_) => VALUE,
                    };
                    bytes = bytes.saturating_add(key).saturating_add(self.size(value)?);
                }
            }
            Value::String(text) => bytes = bytes.saturating_add(text.len() as u64),
            Value::Bytes(data) => bytes = bytes.saturating_add(data.len() as u64),
            _ => {}
        }
        Ok(bytes)
    }

    /// Whether two values are the same. Takes a step for each value that is looked at, and more for long texts.
    pub fn same(&mut self, left: &Value, right: &Value) -> Result<bool, Stop> {
        self.step(1)?;
        match (left, right) {
            (Value::List(left), Value::List(right)) => {
                let mut same = left.len() == right.len();
                for (left, right) in left.iter().zip(right.iter()) {
                    same = same && self.same(left, right)?;
                }
                Ok(same)
            }
            (Value::Map(left), Value::Map(right)) => {
                let mut same = left.map.len() == right.map.len();
                for (key, left) in left.map.iter() {
                    same = same && right.map.get(key).map_or(Ok(false), |right| self.same(left, right))?;
                }
                Ok(same)
            }
            (Value::String(left), Value::String(right)) => {
                self.step(left.len().min(right.len()) as u64 / TEXT)?;
                Ok(left == right)
            }
            (Value::Bytes(left), Value::Bytes(right)) => {
                self.step(left.len().min(right.len()) as u64 / TEXT)?;
                Ok(left == right)
            }
            (left, right) => match (optional(left), optional(right)) {
                (Some(left), Some(right)) => match (left.value(), right.value()) {
                    (Some(left), Some(right)) => self.same(left, right),
                    (left, right) => Ok(left.is_none() && right.is_none()),
                },
                (_, _) => Ok(left == right),
            },
        }
    }

    /// What is made by a function of the engine at most, beside copies of what it gets: for the functions that make more.
    pub fn growth(
        &mut self,
        function: &str,
        target: Option<&Value>,
        arguments: &[Value],
    ) -> Result<(), Stop> {
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => Some(text.clone()),
            _ => None,
        };
        let found = |text: &str, part: &str| (text.matches(part).count() as u64).saturating_add(1);
        match function {
            "replace" => {
                let (Some(target), Some(from), Some(to)) =
                    (text(target), text(arguments.first()), text(arguments.get(1)))
                else {
                    return Ok(());
                };
                self.make(found(&target, &from).saturating_mul(to.len() as u64))
            }
            "split" => {
                let (Some(target), Some(separator)) = (text(target), text(arguments.first())) else {
                    return Ok(());
                };
                self.make(found(&target, &separator).saturating_mul(2 * VALUE))
            }
            "join" => {
                let (Some(Value::List(items)), Some(separator)) = (target, text(arguments.first())) else {
                    return Ok(());
                };
                self.make((items.len() as u64).saturating_mul(separator.len() as u64))
            }
            "range" => match arguments.first() {
                Some(Value::Int(count)) => self.make(count.unsigned_abs().saturating_mul(2 * VALUE)),
                _ => Ok(()),
            },
            // What is looked for may begin at every letter.
            "indexOf" | "lastIndexOf" => match (text(target), text(arguments.first())) {
                (Some(target), Some(part)) => {
                    self.step((target.len() as u64).saturating_mul(part.len() as u64) / TEXT)
                }
                (_, _) => Ok(()),
            },
            // Items are compared with several others, about as often as their number has digits in the system of two.
            "sort" => match target {
                Some(list @ Value::List(items)) => {
                    let bytes = self.size(list)?;
                    self.step((bytes / TEXT).saturating_mul(u64::from(items.len().max(2).ilog2())))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
