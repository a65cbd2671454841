//! Values that may be one of several things.

use serde_json::Value;

use super::check::{Check, equal, push_key};
use super::{Fault, Kind, Node, ObjectRules, text};

/// The key whose value says which alternative an object is meant to be.
struct Tag<'a> {
    name: &'a str,
    /// The alternatives, each with the values that name it.
    named: Vec<(usize, &'a [Value])>,
}

impl<'a> Check<'a> {
    /// Any of them, or exactly one. First as the value is; only if none fits, repaired.
    pub(super) fn alternatives(
        self,
        branches: &'a [usize],
        one: bool,
        value: &mut Value,
        path: &mut String,
        faults: &mut Vec<Fault>,
    ) {
        let strict = Check {
            repair: false,
            ..self
        };
        let mut fits = branches.iter().filter(|branch| {
            let mut found = Vec::new();
            strict.visit(**branch, value, path, &mut found);
            found.is_empty()
        });
        if let Some(branch) = fits.next() {
            if one && fits.next().is_some() {
                let text = "the value fits more than one alternative of the schema".into();
                return faults.push(Fault {
                    path: path.clone(),
                    text,
                });
            }
            if self.repair {
                self.visit(*branch, value, path, faults);
            }
            return;
        }
        let mut attempts = Vec::new();
        for branch in branches {
            let mut found = Vec::new();
            let mut attempt = value.clone();
            self.visit(*branch, &mut attempt, path, &mut found);
            if found.is_empty() {
                *value = attempt;
                return;
            }
            attempts.push((*branch, found));
        }
        faults.extend(self.explain(branches, attempts, value, path));
    }

    /// What is wrong with a value that is none of them: compared with the one that it seems to be meant
    /// as, else with all.
    fn explain(
        self,
        branches: &[usize],
        mut attempts: Vec<(usize, Vec<Fault>)>,
        value: &Value,
        path: &mut String,
    ) -> Vec<Fault> {
        let tag = self.tag(branches);
        if let (Value::Object(map), Some(tag)) = (value, &tag) {
            let all: Vec<&Value> = tag.named.iter().flat_map(|(_, values)| *values).collect();
            let expected = text::one_of(all.iter().copied());
            let Some(given) = map.get(tag.name) else {
                let text = format!("missing `{}` ({expected})", tag.name);
                return vec![Fault {
                    path: path.clone(),
                    text,
                }];
            };
            attempts.retain(|(branch, _)| tag.is_named(*branch, given));
            if attempts.is_empty() {
                let mut path = path.clone();
                push_key(&mut path, tag.name);
                let text = format!("expected {expected}, got {}", text::got(given));
                return vec![Fault { path, text }];
            }
        }
        let here = |found: &[Fault]| found.iter().filter(|fault| fault.path == *path).count();
        let nearest = attempts
            .into_iter()
            .filter(|(branch, _)| self.seems_meant(*branch, value))
            .min_by_key(|(_, found)| (here(found), found.len()));
        match nearest {
            Some((_, found)) => found,
            None => vec![self.none_of(branches, tag.as_ref(), value, path)],
        }
    }

    fn tag(self, branches: &[usize]) -> Option<Tag<'a>> {
        let objects = || {
            branches
                .iter()
                .filter_map(|branch| self.object_rules(*branch))
        };
        let (_, first) = objects().nth(1).and(objects().next())?;
        let values = |rules: &'a ObjectRules, name: &str| {
            let is_required = rules.required.iter().any(|required| required == name);
            let (_, node) = rules.properties.iter().find(|(key, _)| key == name)?;
            self.resolve(*node)
                .values
                .as_deref()
                .filter(|_| is_required)
        };
        first.required.iter().find_map(|name| {
            let named = objects()
                .map(|(branch, rules)| Some((branch, values(rules, name)?)))
                .collect::<Option<_>>()?;
            Some(Tag { name, named })
        })
    }

    fn object_rules(self, branch: usize) -> Option<(usize, &'a ObjectRules)> {
        let rules = self.resolve(branch).object.as_deref()?;
        Some((branch, rules))
    }

    /// Whether the value has the kind of this alternative, and where that is an object, a key that it needs.
    fn seems_meant(self, branch: usize, value: &Value) -> bool {
        let mut nodes = Vec::new();
        self.flatten(&[branch], 8, &mut nodes);
        nodes.into_iter().any(|node| {
            if node.kinds & Kind::of_value(value) == 0 || node.values.is_some() {
                return false;
            }
            match (value, &node.object) {
                (Value::Object(map), Some(rules)) => {
                    let mut required = rules.required.iter();
                    rules.required.is_empty() || required.any(|name| map.contains_key(name))
                }
                _ => true,
            }
        })
    }

    fn none_of(self, branches: &[usize], tag: Option<&Tag>, value: &Value, path: &str) -> Fault {
        let mut nodes = Vec::new();
        self.flatten(branches, 8, &mut nodes);
        let values: Vec<&Value> = nodes
            .iter()
            .flat_map(|node| node.values.iter().flatten())
            .collect();
        let mut expected: Vec<String> = Vec::new();
        if !values.is_empty() {
            expected.push(text::one_of(values.into_iter()));
        }
        for node in nodes.iter().filter(|node| node.values.is_none()) {
            let text = match (&node.object, tag) {
                (Some(_), Some(tag)) => text::object_with(std::iter::once(tag.name)),
                (Some(rules), None) => text::object_with(rules.required.iter().map(String::as_str)),
                (None, _) => text::expected(node),
            };
            if !expected.contains(&text) {
                expected.push(text);
            }
        }
        let got = match value {
            Value::Object(map) => text::object_with(map.keys().map(String::as_str)),
            other => text::got(other),
        };
        Fault {
            path: path.to_owned(),
            text: format!("expected {}, got {got}", expected.join(" or ")),
        }
    }

    /// The alternatives, and where one of them is alternatives in its turn, those.
    fn flatten(self, branches: &[usize], depth: usize, nodes: &mut Vec<&'a Node>) {
        for branch in branches {
            let node = self.resolve(*branch);
            let inner = [&node.any_of, &node.one_of];
            match node.kinds == 0 && depth > 0 && inner.iter().any(|inner| !inner.is_empty()) {
                true => inner
                    .iter()
                    .for_each(|inner| self.flatten(inner, depth - 1, nodes)),
                false => nodes.push(node),
            }
        }
    }
}

impl Tag<'_> {
    fn is_named(&self, branch: usize, given: &Value) -> bool {
        let mut named = self.named.iter();
        named.any(|(index, values)| {
            *index == branch && values.iter().any(|value| equal(value, given))
        })
    }
}
