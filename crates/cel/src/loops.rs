//! What the engine has no words for: loops with two variables, and values that may be missing.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use kube_cel::cel::objects::{Key, Map, OptionalValue};

use crate::Stop;
use crate::walk::{Bound, Walk, boolean, key, overload};

/// What becomes of the rounds of a loop.
enum Outcome {
    All,
    Exists,
    ExistsOne,
    List,
    Map,
    MapEntry,
}

/// A loop with two variables: the key or number of an item, and the item.
struct Loop<'a> {
    outcome: Outcome,
    names: [&'a str; 2],
    condition: Option<&'a IdedExpr>,
    step: &'a IdedExpr,
}

impl<'a> Loop<'a> {
    fn of(call: &'a CallExpr) -> Option<Self> {
        let [first, second, rest @ ..] = call.args.as_slice() else { return None };
        let (Expr::Ident(first), Expr::Ident(second)) = (&first.expr, &second.expr) else { return None };
        let outcome = match call.func_name.as_str() {
            "all" => Outcome::All,
            "exists" => Outcome::Exists,
            "existsOne" | "exists_one" => Outcome::ExistsOne,
            "transformList" => Outcome::List,
            "transformMap" => Outcome::Map,
            "transformMapEntry" => Outcome::MapEntry,
            _ => return None,
        };
        let makes = matches!(outcome, Outcome::List | Outcome::Map | Outcome::MapEntry);
        let (condition, step) = match rest {
            [step] => (None, step),
            [condition, step] if makes => (Some(condition), step),
            _ => return None,
        };
        Some(Self { outcome, names: [first, second], condition, step })
    }
}

impl<'a> Walk<'a> {
    /// The value of a loop with two variables, if the call is one.
    pub(crate) fn loop_of_two(&mut self, call: &'a CallExpr) -> Option<Result<Value, Stop>> {
        let target = call.target.as_deref()?;
        let rounds = Loop::of(call)?;
        let before = self.scope.len();
        let value = self.value(target).and_then(|range| self.go_round(&rounds, &range));
        self.scope.truncate(before);
        Some(value)
    }

    fn go_round(&mut self, rounds: &Loop<'a>, range: &Value) -> Result<Value, Stop> {
        let before = self.scope.len();
        let mut failed = None;
        let mut count = 0_usize;
        let (mut items, mut fields) = (Vec::new(), HashMap::new());
        for (at, item) in self.pairs(range)? {
            self.scope.truncate(before);
            let [first, second] = rounds.names;
            self.scope.push(Bound { name: first, value: Ok(at.clone()) });
            self.scope.push(Bound { name: second, value: Ok(item) });
            if let Some(condition) = rounds.condition
                && !boolean(&self.value(condition)?)?
            {
                continue;
            }
            let value = self.value(rounds.step);
            match rounds.outcome {
                Outcome::All | Outcome::Exists => {
                    let decisive = matches!(rounds.outcome, Outcome::Exists);
                    match value.and_then(|value| boolean(&value)) {
                        Ok(value) if value == decisive => return Ok(Value::Bool(value)),
                        Ok(_) => {}
                        // Another round may decide.
                        Err(Stop::Failed(why)) => failed = failed.or(Some(Stop::Failed(why))),
                        Err(stop) => return Err(stop),
                    }
                }
                Outcome::ExistsOne => count += usize::from(boolean(&value?)?),
                Outcome::List => {
                    self.meter.make(2 * size_of::<Value>() as u64)?;
                    items.push(value?);
                }
                Outcome::Map => self.insert(&mut fields, key(at)?, value?)?,
                Outcome::MapEntry => {
                    let Value::Map(entries) = value? else { return Err(overload()) };
                    for (key, value) in entries.map.iter() {
                        self.insert(&mut fields, key.clone(), value.clone())?;
                    }
                }
            }
        }
        match rounds.outcome {
            Outcome::All => failed.map_or(Ok(Value::Bool(true)), Err),
            Outcome::Exists => failed.map_or(Ok(Value::Bool(false)), Err),
            Outcome::ExistsOne => Ok(Value::Bool(count == 1)),
            Outcome::List => Ok(Value::List(Arc::new(items))),
            Outcome::Map | Outcome::MapEntry => Ok(Value::Map(Map { map: Arc::new(fields) })),
        }
    }

    fn insert(&mut self, fields: &mut HashMap<Key, Value>, key: Key, value: Value) -> Result<(), Stop> {
        self.meter.make(4 * size_of::<Value>() as u64)?;
        match fields.insert(key, value) {
            None => Ok(()),
            Some(_) => Err(Stop::Failed("a key is made twice".to_owned())),
        }
    }

    /// The items of a list with their numbers, or the fields of a map with their keys, in order.
    fn pairs(&mut self, range: &Value) -> Result<Vec<(Value, Value)>, Stop> {
        match range {
            Value::List(items) => {
                self.meter.make(2 * (items.len() * size_of::<Value>()) as u64)?;
                Ok((0_i64..).map(Value::Int).zip(items.iter().cloned()).collect())
            }
            Value::Map(map) => {
                let keys = self.keys(map)?;
                let pair = |key: &Key| Some((Value::from(key.clone()), map.map.get(key)?.clone()));
                Ok(keys.iter().filter_map(pair).collect())
            }
            _ => Err(overload()),
        }
    }

    /// The keys of a map, in order: that of the map itself differs from run to run.
    pub(crate) fn keys(&mut self, map: &Map) -> Result<Vec<Key>, Stop> {
        self.meter.make((map.map.len() * size_of::<Value>()) as u64)?;
        let mut keys: Vec<Key> = map.map.keys().cloned().collect();
        keys.sort_unstable();
        Ok(keys)
    }

    /// `optMap` and `optFlatMap`, if the call is one of them.
    pub(crate) fn mapped_optional(&mut self, call: &'a CallExpr) -> Option<Result<Value, Stop>> {
        let flat = match call.func_name.as_str() {
            "optMap" => false,
            "optFlatMap" => true,
            _ => return None,
        };
        let (target, [name, body]) = (call.target.as_deref()?, call.args.as_slice()) else { return None };
        let Expr::Ident(name) = &name.expr else { return None };
        let target = match self.value(target) {
            Ok(value) => value,
            Err(stop) => return Some(Err(stop)),
        };
        let Some(optional) = optional(&target) else { return Some(Err(overload())) };
        let Some(inner) = optional.value() else { return Some(Ok(target)) };
        self.scope.push(Bound { name, value: Ok(inner.clone()) });
        let value = self.value(body);
        self.scope.pop();
        Some(match value {
            Ok(value) if flat => self::optional(&value).map(|_| ()).ok_or_else(overload).map(|()| value),
            Ok(value) => Ok(some(value)),
            Err(stop) => Err(stop),
        })
    }
}

/// A value that may be missing, if it is one.
pub(crate) fn optional(value: &Value) -> Option<&OptionalValue> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref::<OptionalValue>(),
        _ => None,
    }
}

fn some(value: Value) -> Value {
    Value::Opaque(Arc::new(OptionalValue::of(value)))
}

/// What is at a place, if there is something: `a[?b]`, and what is behind it.
pub(crate) fn may_be_at(from: &Value, at: Value) -> Result<Value, Stop> {
    let none = || Value::Opaque(Arc::new(OptionalValue::none()));
    if let Some(optional) = optional(from) {
        return optional.value().map_or_else(|| Ok(none()), |inner| may_be_at(inner, at));
    }
    let found = match (from, at) {
        (Value::Map(map), at) => map.map.get(&key(at)?).cloned(),
        (Value::List(items), Value::Int(at)) => {
            usize::try_from(at).ok().and_then(|at| items.get(at)).cloned()
        }
        (Value::List(items), Value::UInt(at)) => {
            usize::try_from(at).ok().and_then(|at| items.get(at)).cloned()
        }
        (_, _) => return Err(overload()),
    };
    Ok(found.map_or_else(none, some))
}
