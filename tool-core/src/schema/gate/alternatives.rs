//! Values that may be one of several things.

use serde_json::Value;

use super::check::{Check, push_key};
use super::{Fault, Kind, Node, ObjectRules, text};

/// The key whose value says which alternative an object is meant to be.
struct Tag<'a> {
    name: &'a str,
    /// The alternatives, each with the schema of the key and the values that name it.
    named: Vec<(usize, usize, &'a [Value])>,
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
        let tag = self.tag(branches);
        let meant = self.meant(branches, tag.as_ref(), value);
        let strict = Check {
            repair: false,
            ..self
        };
        let mut fits = meant.iter().filter(|branch| {
            let mut found = Vec::new();
            strict.attempt(**branch, value, path, &mut found);
            found.is_empty()
        });
        let fitting = fits.next();
        let is_ambiguous = one && fitting.is_some() && fits.next().is_some();
        match fitting {
            _ if self.is_exhausted() => return faults.push(exhausted(path)),
            Some(_) if is_ambiguous => {
                let text = "the value fits more than one alternative of the schema".into();
                return faults.push(Fault {
                    path: path.clone(),
                    text,
                });
            }
            Some(branch) if self.repair => return self.visit(*branch, value, path, faults),
            Some(_) => return,
            None if !self.repair => {
                let text = "the value fits no alternative of the schema".into();
                return faults.push(Fault {
                    path: path.clone(),
                    text,
                });
            }
            None => {}
        }
        let mut attempts = Vec::new();
        for branch in meant {
            let mut found = Vec::new();
            let mut attempt = value.clone();
            self.attempt(branch, &mut attempt, path, &mut found);
            if found.is_empty() {
                *value = attempt;
                return;
            }
            attempts.push((branch, found));
        }
        match self.is_exhausted() {
            true => faults.push(exhausted(path)),
            false => faults.extend(self.explain(branches, tag, attempts, value, path)),
        }
    }

    /// Compares with one alternative, as long as there is work left for it: alternatives within
    /// alternatives can be more than anybody has time for.
    fn attempt(self, branch: usize, value: &mut Value, path: &mut String, faults: &mut Vec<Fault>) {
        if self.is_exhausted() {
            return faults.push(exhausted(path));
        }
        self.work_left.update(|left| left - 1);
        self.visit(branch, value, path, faults);
    }

    fn is_exhausted(self) -> bool {
        self.work_left.get() == 0
    }

    /// The alternatives without those that another tag rules out.
    fn meant(self, branches: &[usize], tag: Option<&Tag>, value: &Value) -> Vec<usize> {
        let given = tag.and_then(|tag| Some((tag, value.get(tag.name)?)));
        let is_meant = |branch: usize| {
            given.is_none_or(|(tag, given)| {
                let mut named = tag.named.iter().filter(|(index, ..)| *index == branch);
                named.all(|(_, schema, _)| {
                    let mut found = Vec::new();
                    self.visit(*schema, &mut given.clone(), &mut String::new(), &mut found);
                    found.is_empty()
                })
            })
        };
        let branches = branches.iter().copied();
        branches.filter(|branch| is_meant(*branch)).collect()
    }

    /// What is wrong with a value that is none of them: compared with the one that it seems to be meant
    /// as, else with all.
    fn explain(
        self,
        branches: &[usize],
        tag: Option<Tag>,
        attempts: Vec<(usize, Vec<Fault>)>,
        value: &Value,
        path: &mut String,
    ) -> Vec<Fault> {
        if let (Value::Object(map), Some(tag)) = (value, &tag) {
            let values = tag.named.iter().flat_map(|(_, _, values)| *values);
            let all: Vec<&Value> = values.collect();
            let expected = text::one_of(all.into_iter());
            let Some(given) = map.get(tag.name) else {
                let text = format!("missing `{}` ({expected})", tag.name);
                return vec![Fault {
                    path: path.clone(),
                    text,
                }];
            };
            let is_object = |branch: &usize| tag.named.iter().any(|(index, ..)| index == branch);
            if !attempts.iter().any(|(branch, _)| is_object(branch)) {
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

    /// A key that all alternatives that are objects require, with values that say which one it is.
    fn tag(self, branches: &[usize]) -> Option<Tag<'a>> {
        let can_be_object = |branch: &&usize| {
            let kinds = self.resolve(**branch).kinds;
            kinds == 0 || kinds & Kind::OBJECT != 0
        };
        let objects: Vec<(usize, &'a ObjectRules)> = branches
            .iter()
            .filter(can_be_object)
            .map(|branch| Some((*branch, self.resolve(*branch).object.as_deref()?)))
            .collect::<Option<_>>()?;
        let (_, first) = objects.first().filter(|_| objects.len() > 1)?;
        let named = |branch: usize, rules: &'a ObjectRules, name: &str| {
            rules.required.iter().find(|required| *required == name)?;
            let (_, schema) = rules.properties.iter().find(|(key, _)| key == name)?;
            Some((branch, *schema, self.resolve(*schema).values.as_deref()?))
        };
        first.required.iter().find_map(|name| {
            let named = objects
                .iter()
                .map(|(branch, rules)| named(*branch, rules, name))
                .collect::<Option<_>>()?;
            Some(Tag { name, named })
        })
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

fn exhausted(path: &str) -> Fault {
    Fault {
        path: path.to_owned(),
        text: "the value has too many alternatives within alternatives to compare it with all; nest it less deeply".into(),
    }
}
