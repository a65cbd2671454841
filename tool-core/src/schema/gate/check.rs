//! Value against rules.

use std::cell::Cell;
use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::{
    ArrayRules, Fault, Gate, Kind, Node, NumberRules, ObjectRules, Others, StringRules, is_integer,
    text,
};
use crate::schema::parse_unique;

#[derive(Clone, Copy)]
pub(super) struct Check<'a> {
    pub(super) gate: &'a Gate,
    /// Whether the value may be brought to the form that the schema wants, and all faults are of interest;
    /// else the first one is enough.
    pub(super) repair: bool,
    /// How often the value may still be compared with an alternative.
    pub(super) work_left: &'a Cell<u64>,
}

impl<'a> Check<'a> {
    pub(super) fn visit(
        self,
        index: usize,
        value: &mut Value,
        path: &mut String,
        faults: &mut Vec<Fault>,
    ) {
        let node = &self.gate.nodes[index];
        if self.repair && node.kinds != 0 {
            repair(node.kinds, value);
        }
        if node.kinds != 0 && Kind::of_value(value) & node.kinds == 0 {
            return faults.push(mismatch(path, node, value));
        }
        if let Some(values) = &node.values
            && !values.iter().any(|allowed| equal(allowed, value))
        {
            return faults.push(mismatch(path, node, value));
        }
        match value {
            Value::Object(map) => {
                if let Some(rules) = &node.object {
                    self.object(rules, map, path, faults);
                }
            }
            Value::Array(items) => {
                if let Some(rules) = &node.array {
                    self.array(rules, items, path, faults);
                }
            }
            Value::String(string) => {
                if let Some(rules) = &node.string {
                    check_string(rules, string, path, faults);
                }
            }
            Value::Number(number) => {
                if let Some(rules) = &node.number {
                    check_number(rules, number, path, faults);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
        node.reference
            .iter()
            .chain(&node.all_of)
            .for_each(|index| self.visit(*index, value, path, faults));
        if !node.any_of.is_empty() {
            self.alternatives(&node.any_of, false, value, path, faults);
        }
        if !node.one_of.is_empty() {
            self.alternatives(&node.one_of, true, value, path, faults);
        }
    }

    fn is_decided(self, faults: &[Fault]) -> bool {
        !self.repair && !faults.is_empty()
    }

    fn object(
        self,
        rules: &ObjectRules,
        map: &mut Map<String, Value>,
        path: &mut String,
        faults: &mut Vec<Fault>,
    ) {
        if self.repair {
            map.retain(|name, value| {
                let optional = || !rules.required.iter().any(|required| required == name);
                let property = || {
                    rules
                        .properties
                        .iter()
                        .find(|(property, _)| property == name)
                };
                let absent = value.is_null()
                    && optional()
                    && property().is_some_and(|(_, node)| !self.takes_null(*node));
                !absent
            });
        }
        for name in &rules.required {
            if !map.contains_key(name) {
                let node = rules
                    .properties
                    .iter()
                    .find(|(property, _)| property == name);
                let expected = node.map(|(_, node)| text::expected(self.resolve(*node)));
                let expected =
                    expected.map_or_else(String::new, |expected| format!(" ({expected})"));
                faults.push(Fault {
                    path: path.clone(),
                    text: format!("missing `{name}`{expected}"),
                });
            }
        }
        for (name, value) in map.iter_mut() {
            if self.is_decided(faults) {
                return;
            }
            let mut known = false;
            let property = rules
                .properties
                .iter()
                .find(|(property, _)| property == name)
                .map(|(_, node)| *node);
            let patterns = rules
                .patterns
                .iter()
                .filter(|(pattern, _)| pattern.is_match(name))
                .map(|(_, node)| *node);
            let length = path.len();
            for node in property.into_iter().chain(patterns) {
                known = true;
                push_key(path, name);
                self.visit(node, value, path, faults);
                path.truncate(length);
            }
            match &rules.others {
                _ if known => {}
                Others::Allowed => {}
                Others::Like(node) => {
                    push_key(path, name);
                    self.visit(*node, value, path, faults);
                    path.truncate(length);
                }
                Others::Refused if rules.unchecked_patterns => {}
                Others::Refused => {
                    let names = rules.properties.iter().map(|(name, _)| name.as_str());
                    let patterns = rules.patterns.iter().map(|(pattern, _)| pattern.as_str());
                    let known = text::known(names, patterns);
                    faults.push(Fault {
                        path: path.clone(),
                        text: format!("unknown key `{name}`; {known}"),
                    });
                }
            }
        }
        count(
            ("property", "properties"),
            map.len(),
            rules.at_least,
            rules.at_most,
            path,
            faults,
        );
    }

    fn array(
        self,
        rules: &ArrayRules,
        items: &mut [Value],
        path: &mut String,
        faults: &mut Vec<Fault>,
    ) {
        count(
            ("item", "items"),
            items.len(),
            rules.at_least,
            rules.at_most,
            path,
            faults,
        );
        let length = path.len();
        for (position, item) in items.iter_mut().enumerate() {
            if self.is_decided(faults) {
                return;
            }
            let node = rules.prefix.get(position).or(rules.items.as_ref());
            if let Some(node) = node {
                path.push('/');
                path.push_str(&position.to_string());
                self.visit(*node, item, path, faults);
                path.truncate(length);
            } else if rules.no_more_items {
                let text = format!("expected at most {} item(s)", rules.prefix.len());
                return faults.push(Fault {
                    path: path.clone(),
                    text,
                });
            }
        }
        let twice = |position: usize| {
            items[..position]
                .iter()
                .any(|earlier| equal(earlier, &items[position]))
        };
        if rules.unique && (1..items.len()).any(twice) {
            faults.push(Fault {
                path: path.clone(),
                text: "the items must differ from each other".into(),
            });
        }
    }

    fn takes_null(self, index: usize) -> bool {
        let node = self.resolve(index);
        let branches = || node.any_of.iter().chain(&node.one_of);
        match node.kinds {
            0 if branches().next().is_some() => branches().any(|branch| self.takes_null(*branch)),
            0 => true,
            kinds => kinds & Kind::NULL != 0,
        }
    }

    /// Follows references, to say what is expected where one stands.
    pub(super) fn resolve(self, index: usize) -> &'a Node {
        let mut node = &self.gate.nodes[index];
        for _ in 0..self.gate.nodes.len() {
            match (node.kinds, node.reference, node.any_of.as_slice()) {
                (0, Some(next), _) => node = &self.gate.nodes[next],
                (0, None, [only]) => node = &self.gate.nodes[*only],
                _ => break,
            }
        }
        node
    }
}

fn repair(kinds: u8, value: &mut Value) {
    match value {
        Value::String(text) if kinds & Kind::STRING == 0 => {
            let scalar = || text.len() <= 40 && text.trim() == text;
            let decoded = match text.trim_start().as_bytes().first() {
                Some(b'[') if kinds & Kind::ARRAY != 0 => parse_unique(text).ok(),
                Some(b'{') if kinds & Kind::OBJECT != 0 => parse_unique(text).ok(),
                Some(b'-' | b'0'..=b'9' | b't' | b'f') if scalar() => {
                    serde_json::from_str(text).ok()
                }
                _ => None,
            };
            if let Some(mut decoded) = decoded {
                if !decoded.is_string() {
                    repair(kinds, &mut decoded);
                }
                if Kind::of_value(&decoded) & kinds != 0 {
                    *value = decoded;
                }
            }
        }
        Value::Number(number)
            if number.is_f64() && kinds & Kind::NUMBER == Kind::INTEGER && is_integer(number) =>
        {
            // Every float up to 2^63 that has no fraction is exactly the integer it is cast to.
            if let Some(float) = number.as_f64()
                && float.abs() < 9.223_372_036_854_775e18
            {
                *value = Value::from(float as i64);
            }
        }
        _ => {}
    }
}

fn mismatch(path: &str, node: &Node, value: &Value) -> Fault {
    Fault {
        path: path.to_owned(),
        text: format!(
            "expected {}, got {}",
            text::expected(node),
            text::got(value)
        ),
    }
}

pub(super) fn push_key(path: &mut String, key: &str) {
    path.push('/');
    match key.contains(['~', '/']) {
        true => path.push_str(&key.replace('~', "~0").replace('/', "~1")),
        false => path.push_str(key),
    }
}

fn count(
    (one, many): (&str, &str),
    found: usize,
    least: Option<u64>,
    most: Option<u64>,
    path: &str,
    faults: &mut Vec<Fault>,
) {
    let found = found as u64;
    let (words, bound) = match (least, most) {
        (Some(least), _) if found < least => ("at least", least),
        (_, Some(most)) if found > most => ("at most", most),
        _ => return,
    };
    let what = if bound == 1 { one } else { many };
    faults.push(Fault {
        path: path.to_owned(),
        text: format!("expected {words} {bound} {what}, got {found}"),
    });
}

fn check_string(rules: &StringRules, string: &str, path: &str, faults: &mut Vec<Fault>) {
    if rules.at_least.is_some() || rules.at_most.is_some() {
        count(
            ("character", "characters"),
            string.chars().count(),
            rules.at_least,
            rules.at_most,
            path,
            faults,
        );
    }
    if let Some(pattern) = &rules.pattern
        && !pattern.is_match(string)
    {
        let got = text::got(&Value::from(string));
        let text = format!(
            "expected a string that matches `{}`, got {got}",
            pattern.as_str()
        );
        faults.push(Fault {
            path: path.to_owned(),
            text,
        });
    }
}

fn check_number(rules: &NumberRules, number: &Number, path: &str, faults: &mut Vec<Fault>) {
    let mut bound = |rule: &Option<Number>, fits: fn(Ordering) -> bool, words: &str| {
        if let Some(rule) = rule
            && !fits(compare(number, rule))
        {
            faults.push(Fault {
                path: path.to_owned(),
                text: format!("expected a number {words} {rule}, got {number}"),
            });
        }
    };
    bound(&rules.minimum, Ordering::is_ge, "of at least");
    bound(&rules.maximum, Ordering::is_le, "of at most");
    bound(&rules.above, Ordering::is_gt, "greater than");
    bound(&rules.below, Ordering::is_lt, "less than");
    if let Some(step) = &rules.multiple_of
        && !is_multiple(number, step)
    {
        faults.push(Fault {
            path: path.to_owned(),
            text: format!("expected a multiple of {step}, got {number}"),
        });
    }
}

fn compare(left: &Number, right: &Number) -> Ordering {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => left
            .as_f64()
            .unwrap_or(f64::NAN)
            .total_cmp(&right.as_f64().unwrap_or(f64::NAN)),
    }
}

fn is_multiple(number: &Number, step: &Number) -> bool {
    match (number.as_i128(), step.as_i128()) {
        (Some(_), Some(0)) => false,
        (Some(number), Some(step)) => number % step == 0,
        _ => {
            let quotient = number.as_f64().unwrap_or(f64::NAN) / step.as_f64().unwrap_or(f64::NAN);
            (quotient - quotient.round()).abs() < 1e-9
        }
    }
}

/// Equality of JSON Schema: `1` and `1.0` are the same number.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, left)| right.get(key).is_some_and(|right| equal(left, right)))
        }
        _ => left == right,
    }
}
