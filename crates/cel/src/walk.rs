//! Going through an expression.
//!
//! The engine reads expressions and knows what functions and operators do. Loops, the lists that they build, and all that looks into
//! values is done here: the engine copies what it passes on, and has no meter.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, SelectExpr, operators,
};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, Value};

use crate::loops::{may_be_at, optional};
use crate::meter::{Meter, TEXT};
use crate::pattern::Pattern;
use crate::{MAX_CHAIN, Stop, kind, text};

/// What a name stands for. A loop may carry an error along, which a later round may make irrelevant.
pub(crate) struct Bound<'a> {
    pub name: &'a str,
    pub value: Result<Value, Stop>,
}

pub(crate) struct Walk<'a> {
    pub engine: &'a Context<'a>,
    pub meter: Meter<'a>,
    pub scope: Vec<Bound<'a>>,
    depth: usize,
    /// The pattern that was used last.
    pattern: Option<Pattern>,
}

impl<'a> Walk<'a> {
    pub fn new(engine: &'a Context<'a>, meter: Meter<'a>, variables: Vec<crate::Variable<'a>>) -> Self {
        let scope = variables.into_iter().map(|one| Bound { name: one.name, value: Ok(one.value) }).collect();
        Self { engine, meter, scope, depth: 0, pattern: None }
    }

    pub fn value(&mut self, expression: &'a IdedExpr) -> Result<Value, Stop> {
        if self.depth == MAX_CHAIN {
            return Err(Stop::Chain);
        }
        self.depth += 1;
        let value = self.meter.step(1).and_then(|()| self.value_here(expression));
        self.depth -= 1;
        value
    }

    fn value_here(&mut self, expression: &'a IdedExpr) -> Result<Value, Stop> {
        match &expression.expr {
            Expr::Ident(name) => self.variable(name),
            Expr::Literal(literal) => Value::try_from(literal.to_val().as_ref()).map_err(failed),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::List(list) if list.optional_indices.is_empty() => {
                let items = list.elements.iter().map(|item| self.value(item));
                Ok(Value::List(Arc::new(items.collect::<Result<_, _>>()?)))
            }
            Expr::Map(map) => {
                let mut fields = HashMap::new();
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else { return Err(unknown()) };
                    let key = key(self.value(&entry.key)?)?;
                    fields.insert(key, self.value(&entry.value)?);
                }
                Ok(Value::Map(Map { map: Arc::new(fields) }))
            }
            Expr::List(_) | Expr::Struct(_) | Expr::Unspecified => Err(unknown()),
        }
    }

    fn variable(&self, name: &str) -> Result<Value, Stop> {
        match self.scope.iter().rev().find(|variable| variable.name == name) {
            Some(variable) => variable.value.clone(),
            None => {
                kind::named(name).ok_or_else(|| Stop::Failed(format!("Undeclared reference to '{name}'")))
            }
        }
    }

    fn select(&mut self, select: &'a SelectExpr) -> Result<Value, Stop> {
        let operand = self.value(&select.operand)?;
        if optional(&operand).is_some() {
            let found = may_be_at(&operand, Value::from(select.field.clone()))?;
            let is_there = optional(&found).is_some_and(|found| found.value().is_some());
            return Ok(if select.test { Value::Bool(is_there) } else { found });
        }
        let Value::Map(fields) = operand else {
            return if select.test { Ok(Value::Bool(false)) } else { Err(overload()) };
        };
        let found = fields.map.get(&Key::String(Arc::new(select.field.clone())));
        if select.test {
            return Ok(Value::Bool(found.is_some()));
        }
        found.cloned().ok_or_else(|| no_such_key(&select.field))
    }

    fn call(&mut self, call: &'a CallExpr) -> Result<Value, Stop> {
        match (call.func_name.as_str(), call.target.as_deref(), call.args.as_slice()) {
            (operators::LOGICAL_AND, None, [left, right]) => self.logical(left, right, Decides::False),
            (operators::LOGICAL_OR, None, [left, right]) => self.logical(left, right, Decides::True),
            (operators::LOGICAL_NOT, None, [one]) => Ok(Value::Bool(!boolean(&self.value(one)?)?)),
            (operators::NOT_STRICTLY_FALSE, None, [one]) => match self.value(one) {
                Ok(Value::Bool(value)) => Ok(Value::Bool(value)),
                Ok(_) | Err(Stop::Failed(_)) => Ok(Value::Bool(true)),
                Err(stop) => Err(stop),
            },
            (operators::CONDITIONAL, None, [condition, yes, no]) => {
                if boolean(&self.value(condition)?)? {
                    self.value(yes)
                } else {
                    self.value(no)
                }
            }
            (operators::EQUALS, None, [left, right]) => self.equal(left, right).map(Value::Bool),
            (operators::NOT_EQUALS, None, [left, right]) => {
                self.equal(left, right).map(|equal| Value::Bool(!equal))
            }
            (operators::INDEX, None, [from, at]) => {
                let (from, at) = (self.value(from)?, self.value(at)?);
                if optional(&from).is_some() { may_be_at(&from, at) } else { index(&from, at) }
            }
            (operators::OPT_INDEX | operators::OPT_SELECT, None, [from, at]) => {
                let (from, at) = (self.value(from)?, self.value(at)?);
                may_be_at(&from, at)
            }
            (operators::IN, None, [what, from]) => {
                let (what, from) = (self.value(what)?, self.value(from)?);
                self.contains(&what, &from)
            }
            (operators::ADD, None, [left, right]) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                match (left, right) {
                    (Value::List(left), Value::List(right)) => self.joined(&left, &right),
                    (left, right) => self.engine(call, None, &[left, right]),
                }
            }
            ("size", Some(one), []) | ("size", None, [one]) => {
                let value = self.value(one)?;
                match &value {
                    Value::List(items) => length(items.len()),
                    Value::Map(map) => length(map.map.len()),
                    _ => self.engine(
                        call,
                        call.target.is_some().then_some(&value),
                        std::slice::from_ref(&value),
                    ),
                }
            }
            (_, target, arguments) => {
                if let Some(value) = self.loop_of_two(call).or_else(|| self.mapped_optional(call)) {
                    return value;
                }
                let mut family = None;
                let target = match target {
                    // A name that is none here stands in front of functions, as in `sets.contains`.
                    Some(IdedExpr { expr: Expr::Ident(name), .. }) if !self.knows(name) => {
                        family = Some(name.as_str());
                        None
                    }
                    Some(target) => Some(self.value(target)?),
                    None => None,
                };
                let values = arguments.iter().map(|one| self.value(one)).collect::<Result<Vec<_>, _>>()?;
                match self.own(family, &call.func_name, target.as_ref(), &values) {
                    Some(value) => value,
                    None => self.engine(call, target.as_ref(), &values),
                }
            }
        }
    }

    /// The functions that are not the engine's: because it does not know them, or has no meter for what they take.
    fn own(
        &mut self,
        family: Option<&str>,
        name: &str,
        target: Option<&Value>,
        values: &[Value],
    ) -> Option<Result<Value, Stop>> {
        Some(match (family, name, target, values) {
            (None, "dyn", None, [value]) => Ok(value.clone()),
            (None, "type", None, [value]) => Ok(kind::of(value)),
            (None, "matches", Some(Value::String(text)), [Value::String(pattern)])
            | (None, "matches", None, [Value::String(text), Value::String(pattern)]) => {
                self.matches(text, pattern).map(Value::Bool)
            }
            (None, "format", Some(Value::String(template)), [Value::List(values)]) => {
                text::format(template, values, &mut self.meter).map(Value::from)
            }
            (None, "distinct", Some(Value::List(items)), []) => self.distinct(items),
            (Some("sets"), "contains", None, [Value::List(all), Value::List(some)]) => {
                self.all_in(some, all).map(Value::Bool)
            }
            (Some("sets"), "equivalent", None, [Value::List(left), Value::List(right)]) => {
                let both = self.all_in(right, left).and_then(|all| Ok(all && self.all_in(left, right)?));
                both.map(Value::Bool)
            }
            (Some("sets"), "intersects", None, [Value::List(left), Value::List(right)]) => {
                self.any_in(left, right).map(Value::Bool)
            }
            // The engine writes other values in an order that differs from run to run.
            (None, "join", Some(Value::List(items)), _)
                if !items.iter().all(|item| matches!(item, Value::String(_))) =>
            {
                Err(overload())
            }
            (_, _, _, _) => return None,
        })
    }

    fn matches(&mut self, text: &str, pattern: &str) -> Result<bool, Stop> {
        let mut ready = match self.pattern.take() {
            Some(ready) if ready.text() == pattern => ready,
            Some(_) | None => Pattern::new(pattern, &mut self.meter)?,
        };
        let found = ready.is_in(text, &mut self.meter);
        self.pattern = Some(ready);
        found
    }

    fn distinct(&mut self, items: &[Value]) -> Result<Value, Stop> {
        let mut distinct: Vec<Value> = Vec::new();
        for item in items {
            if !self.is_in(item, &distinct)? {
                self.meter.make(2 * size_of::<Value>() as u64)?;
                distinct.push(item.clone());
            }
        }
        Ok(Value::List(Arc::new(distinct)))
    }

    fn is_in(&mut self, item: &Value, items: &[Value]) -> Result<bool, Stop> {
        for other in items {
            if self.meter.same(other, item)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn all_in(&mut self, some: &[Value], all: &[Value]) -> Result<bool, Stop> {
        for item in some {
            if !self.is_in(item, all)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn any_in(&mut self, some: &[Value], all: &[Value]) -> Result<bool, Stop> {
        for item in some {
            if self.is_in(item, all)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn knows(&self, name: &str) -> bool {
        self.scope.iter().any(|variable| variable.name == name)
    }

    /// One side may fail if the other decides.
    fn logical(&mut self, left: &'a IdedExpr, right: &'a IdedExpr, decides: Decides) -> Result<Value, Stop> {
        let decisive = decides == Decides::True;
        let first = self.value(left).and_then(|value| boolean(&value));
        let first = match first {
            Ok(value) if value == decisive => return Ok(Value::Bool(value)),
            Ok(value) => Ok(value),
            Err(Stop::Failed(why)) => Err(Stop::Failed(why)),
            Err(stop) => return Err(stop),
        };
        match self.value(right).and_then(|value| boolean(&value)) {
            Ok(value) if value == decisive => Ok(Value::Bool(value)),
            Err(Stop::Failed(why)) => Err(first.err().unwrap_or(Stop::Failed(why))),
            Err(stop) => Err(stop),
            Ok(value) => first.map(|_| Value::Bool(value)),
        }
    }

    fn equal(&mut self, left: &'a IdedExpr, right: &'a IdedExpr) -> Result<bool, Stop> {
        let (left, right) = (self.value(left)?, self.value(right)?);
        self.meter.same(&left, &right)
    }

    fn contains(&mut self, what: &Value, from: &Value) -> Result<Value, Stop> {
        match from {
            Value::List(items) => self.is_in(what, items).map(Value::Bool),
            Value::Map(map) => Ok(Value::Bool(key(what.clone()).is_ok_and(|key| map.map.contains_key(&key)))),
            _ => Err(overload()),
        }
    }

    fn joined(&mut self, left: &Arc<Vec<Value>>, right: &Arc<Vec<Value>>) -> Result<Value, Stop> {
        let count = left.len() as u64 + right.len() as u64;
        self.meter.step(count)?;
        self.meter.make(count.saturating_mul(size_of::<Value>() as u64))?;
        Ok(Value::List(Arc::new(left.iter().chain(right.iter()).cloned().collect())))
    }

    /// Lets the engine apply a function to values.
    fn engine(
        &mut self,
        call: &CallExpr,
        target: Option<&Value>,
        arguments: &[Value],
    ) -> Result<Value, Stop> {
        let mut bytes = 0_u64;
        for value in target.into_iter().chain(arguments) {
            bytes = bytes.saturating_add(self.meter.size(value)?);
        }
        // The engine makes copies of what it gets, and what it gives is mostly not larger.
        self.meter.step(bytes / TEXT)?;
        self.meter.make(bytes.saturating_mul(2))?;
        self.meter.growth(&call.func_name, target, arguments)?;
        let mut engine = self.engine.new_inner_scope();
        let mut named = |name: String, value: &Value| {
            engine.add_variable_from_value(name.as_str(), value.clone());
            IdedExpr { id: 0, expr: Expr::Ident(name) }
        };
        let in_place = target.map(|target| Box::new(named("@target".to_owned(), target)));
        let arguments = if call.args.is_empty() { &[] } else { arguments };
        let args = arguments.iter().enumerate().map(|(at, value)| named(format!("@{at}"), value)).collect();
        let call = CallExpr {
            func_name: call.func_name.clone(),
            target: in_place.or_else(|| call.target.clone()),
            args,
        };
        let name = call.func_name.clone();
        let value = engine.resolve(&IdedExpr { id: 0, expr: Expr::Call(call) });
        let value = value.map_err(|error| match error.to_string() {
            // It would tell the fields of maps in an order that differs from run to run.
            told if told.contains("Map(") => {
                Stop::Failed(format!("{name} does not know values of this type"))
            }
            told => Stop::Failed(told),
        })?;
        let bytes = self.meter.size(&value)?;
        self.meter.make(bytes)?;
        Ok(value)
    }

    fn comprehension(&mut self, of: &'a ComprehensionExpr) -> Result<Value, Stop> {
        let range = match self.value(&of.iter_range)? {
            Value::List(items) => items,
            Value::Map(map) => Arc::new(self.keys(&map)?.into_iter().map(Value::from).collect()),
            _ => return Err(overload()),
        };
        let carried = self.value(&of.accu_init)?;
        let before = self.scope.len();
        self.scope.push(Bound { name: &of.accu_var, value: Ok(carried) });
        let done = self.rounds(of, &range, before);
        let result = done.and_then(|()| self.value(&of.result));
        self.scope.truncate(before);
        result
    }

    /// Goes round. `carried` is where the value stands that each round passes on.
    fn rounds(&mut self, of: &'a ComprehensionExpr, range: &[Value], carried: usize) -> Result<(), Stop> {
        for item in range {
            self.scope.truncate(carried + 1);
            if !boolean(&self.value(&of.loop_cond)?)? {
                break;
            }
            self.scope.push(Bound { name: &of.iter_var, value: Ok(item.clone()) });
            self.round(&of.loop_step, &of.accu_var, carried)?;
        }
        self.scope.truncate(carried + 1);
        Ok(())
    }

    /// One round. Lists that a loop builds grow in place.
    fn round(&mut self, step: &'a IdedExpr, name: &str, carried: usize) -> Result<(), Stop> {
        let is_carried = |one: &IdedExpr| matches!(&one.expr, Expr::Ident(ident) if ident == name);
        if let Expr::Call(call) = &step.expr {
            match (call.func_name.as_str(), call.args.as_slice()) {
                (operators::CONDITIONAL, [condition, yes, no]) if is_carried(no) => {
                    if boolean(&self.value(condition)?)? {
                        return self.round(yes, name, carried);
                    }
                    return Ok(());
                }
                (operators::ADD, [list, IdedExpr { expr: Expr::List(more), .. }])
                    if is_carried(list) && more.optional_indices.is_empty() =>
                {
                    for item in &more.elements {
                        let item = self.value(item)?;
                        self.meter.make(2 * size_of::<Value>() as u64)?;
                        if let Ok(Value::List(items)) = &mut self.scope[carried].value {
                            Arc::make_mut(items).push(item);
                        }
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        self.scope[carried].value = match self.value(step) {
            Err(end @ (Stop::Steps | Stop::Made | Stop::Chain | Stop::Pattern | Stop::CalledOff)) => {
                return Err(end);
            }
            value @ (Ok(_) | Err(Stop::Failed(_))) => value,
        };
        Ok(())
    }
}

/// Which value of one side decides.
#[derive(Clone, Copy, PartialEq)]
enum Decides {
    True,
    False,
}

pub(crate) fn boolean(value: &Value) -> Result<bool, Stop> {
    match value {
        Value::Bool(value) => Ok(*value),
        _ => Err(overload()),
    }
}

fn length(count: usize) -> Result<Value, Stop> {
    i64::try_from(count).map(Value::Int).map_err(|_| overload())
}

fn index(from: &Value, at: Value) -> Result<Value, Stop> {
    match (from, at) {
        (Value::List(items), Value::Int(at)) => usize::try_from(at)
            .ok()
            .and_then(|at| items.get(at))
            .cloned()
            .ok_or_else(|| Stop::Failed(format!("Index out of bounds: {at}"))),
        (Value::List(items), Value::UInt(at)) => index(
            &Value::List(items.clone()),
            Value::Int(i64::try_from(at).map_err(|_| Stop::Failed(format!("Index out of bounds: {at}")))?),
        ),
        (Value::Map(map), at) => {
            let key = key(at)?;
            map.map.get(&key).cloned().ok_or_else(|| no_such_key(&key.to_string()))
        }
        _ => Err(overload()),
    }
}

pub(crate) fn key(value: Value) -> Result<Key, Stop> {
    match value {
        Value::Int(value) => Ok(Key::Int(value)),
        Value::UInt(value) => Ok(Key::Uint(value)),
        Value::Bool(value) => Ok(Key::Bool(value)),
        Value::String(text) => Ok(Key::String(text)),
        _ => Err(Stop::Failed("this cannot be a key".to_owned())),
    }
}

fn no_such_key(key: &str) -> Stop {
    Stop::Failed(format!("No such key: {key}"))
}

pub(crate) fn overload() -> Stop {
    Stop::Failed("No such overload".to_owned())
}

fn unknown() -> Stop {
    Stop::Failed("it has something that expressions cannot have here".to_owned())
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: kube_cel::cel::ExecutionError) -> Stop {
    Stop::Failed(error.to_string())
}
