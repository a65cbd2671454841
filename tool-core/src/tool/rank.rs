//! Which tools fit a question best: BM25 (Robertson and Zaragoza, 2009) over their words.

use std::collections::HashMap;

use serde_json::Value;

use super::ToolDefinition;

/// The usual constants: how fast further occurrences of a word count less, and how much longer texts
/// are held back.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// How often a word of the name counts, against one of the description.
const NAME: usize = 3;

/// The words of a catalogue of tools.
#[derive(Debug)]
pub(super) struct Index {
    /// For each word, in which tools it is and how often.
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    average: f64,
}

impl Index {
    pub(super) fn new<'a>(tools: impl Iterator<Item = &'a ToolDefinition>) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (number, tool) in tools.enumerate() {
            let words = words_of_tool(tool);
            lengths.push(words.len() as f64);
            for word in words {
                let places = postings.entry(word).or_default();
                match places.last_mut() {
                    Some((last, count)) if *last == number => *count += 1.0,
                    _ => places.push((number, 1.0)),
                }
            }
        }
        let average = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        Index {
            postings,
            lengths,
            average,
        }
    }

    /// The best tools, best first; of equally good ones the one that was registered first.
    pub(super) fn search(&self, query: &str, limit: usize) -> Vec<usize> {
        let mut asked = Vec::new();
        words(query, &mut asked);
        asked.sort();
        asked.dedup();
        let tools = self.lengths.len() as f64;
        let mut scores = vec![0.0; self.lengths.len()];
        for places in asked.iter().filter_map(|word| self.postings.get(word)) {
            let found = places.len() as f64;
            let rarity = ((tools - found + 0.5) / (found + 0.5) + 1.0).ln();
            for (tool, count) in places {
                let length = 1.0 - B + B * self.lengths[*tool] / self.average;
                scores[*tool] += rarity * count * (K1 + 1.0) / (count + K1 * length);
            }
        }
        let mut best: Vec<usize> = (0..scores.len())
            .filter(|tool| scores[*tool] > 0.0)
            .collect();
        best.sort_by(|left, right| scores[*right].total_cmp(&scores[*left]));
        best.truncate(limit);
        best
    }
}

fn words_of_tool(tool: &ToolDefinition) -> Vec<String> {
    let mut found = Vec::new();
    for _ in 0..NAME {
        words(tool.name(), &mut found);
    }
    words(tool.description(), &mut found);
    for (name, property) in tool.schema().as_value()["properties"]
        .as_object()
        .into_iter()
        .flatten()
    {
        words(name, &mut found);
        words(
            property
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default(),
            &mut found,
        );
    }
    found
}

/// The words of a text, in lower case and without the `s` of a plural; `camelCase` and `snake_case` are
/// two.
fn words(text: &str, found: &mut Vec<String>) {
    let mut word = String::new();
    let mut end = |word: &mut String| {
        let plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
        if plural {
            word.pop();
        }
        if !word.is_empty() {
            found.push(std::mem::take(word));
        }
    };
    let mut was_lower = false;
    for character in text.chars() {
        if !character.is_alphanumeric() || (was_lower && character.is_uppercase()) {
            end(&mut word);
        }
        was_lower = character.is_lowercase();
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
    }
    end(&mut word);
}
