//! Ways to run something without it standing there by itself.

use super::words::{double, single};
use super::{Act, sections};
use crate::dice::Dice;

const FRAMES: &str = include_str!("frames.txt");

pub(super) struct Frames {
    wrappers: Vec<String>,
    around: Vec<String>,
    quoted: Vec<String>,
}

impl Frames {
    pub(super) fn new() -> Self {
        let [wrappers, around, quoted] = sections(FRAMES);
        Self { wrappers, around, quoted }
    }

    pub(super) fn framed(&self, dice: &mut Dice, act: Act) -> String {
        let mut line = act.text;
        if act.simple && dice.below(3) == 0 {
            line = dice.pick(&self.wrappers).replace('C', &line);
        }
        if dice.below(4) == 0 && !line.contains("<<") {
            let word = if dice.below(2) == 0 { single(&line) } else { double(&line) };
            line = dice.pick(&self.quoted).replace('C', &word);
        }
        match dice.below(3) {
            0 => line,
            _ => dice.pick(&self.around).replace('C', &line),
        }
    }
}
