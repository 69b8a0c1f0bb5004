//! Which database has which sessions: ranges of tags, and nothing else.

use std::fmt::{self, Display};
use std::str::FromStr;

use holdstead_protocol::ShardTag;

/// Some tags that follow each other, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TagRange {
    pub first: ShardTag,
    pub last: ShardTag,
}

impl TagRange {
    pub const ALL: Self = Self { first: ShardTag(0), last: ShardTag(u16::MAX) };

    pub const fn has(self, tag: ShardTag) -> bool {
        self.first.0 <= tag.0 && tag.0 <= self.last.0
    }

    /// How many tags there are in it.
    pub const fn len(self) -> u32 {
        (self.last.0 as u32 + 1).saturating_sub(self.first.0 as u32)
    }

    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    fn both(self, other: Self) -> Option<Self> {
        let both = Self { first: self.first.max(other.first), last: self.last.min(other.last) };
        (both.first <= both.last).then_some(both)
    }
}

impl Display for TagRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}-{:04x}", self.first.0, self.last.0)
    }
}

/// Why a text is no range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is not a range of tags: write its first and last one with four hexadecimal digits each, like 8000-ffff"
)]
pub struct NoRange {
    given: String,
}

impl FromStr for TagRange {
    type Err = NoRange;

    fn from_str(text: &str) -> Result<Self, NoRange> {
        let tag = |digits: &str| {
            let is_tag = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            u16::from_str_radix(digits, 16).ok().filter(|_| is_tag).map(ShardTag)
        };
        let range = text.split_once('-').and_then(|(first, last)| Some((tag(first)?, tag(last)?)));
        match range {
            Some((first, last)) if first <= last => Ok(Self { first, last }),
            Some(_) | None => Err(NoRange { given: text.to_owned() }),
        }
    }
}

/// The number of a database in the list of the settings, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatabaseNumber(pub usize);

impl Display for DatabaseNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

/// Where the sessions of a range are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    pub range: TagRange,
    /// Where they are read.
    pub database: DatabaseNumber,
    /// While they are being moved there, nothing is written to them; also when they are read there already, until every node
    /// does so.
    pub moving_to: Option<DatabaseNumber>,
}

/// All ranges, in their order and without a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardMap {
    pub(crate) version: i64,
    placed: Vec<Placed>,
}

impl ShardMap {
    /// `None`: they leave some out, or have some twice.
    pub(crate) fn new(version: i64, placed: Vec<Placed>) -> Option<Self> {
        let mut next = 0;
        for one in &placed {
            if u32::from(one.range.first.0) != next || one.range.is_empty() {
                return None;
            }
            next += one.range.len();
        }
        (next == TagRange::ALL.len()).then_some(Self { version, placed })
    }

    /// So many databases, each with as many tags as the others.
    pub(crate) fn even(count: usize) -> Vec<Placed> {
        let count = u32::try_from(count).unwrap_or(u32::MAX).clamp(1, TagRange::ALL.len());
        // It is below 65,536 for all but the end, which is none.
        let tag = |index: u32| u16::try_from(index * (TagRange::ALL.len() / count)).unwrap_or(u16::MAX);
        (0..count)
            .map(|index| Placed {
                range: TagRange {
                    first: ShardTag(tag(index)),
                    last: ShardTag(if index + 1 == count { u16::MAX } else { tag(index + 1) - 1 }),
                },
                database: DatabaseNumber(index as usize + 1),
                moving_to: None,
            })
            .collect()
    }

    pub(crate) fn whole(database: DatabaseNumber) -> Vec<Placed> {
        vec![Placed { range: TagRange::ALL, database, moving_to: None }]
    }

    pub fn placed(&self) -> &[Placed] {
        &self.placed
    }

    pub(crate) fn of(&self, tag: ShardTag) -> Option<&Placed> {
        let index = self.placed.partition_point(|placed| placed.range.last < tag);
        self.placed.get(index)
    }

    /// What a database may be written for: what is there and stays, and what is on its way there.
    pub(crate) fn written_in(&self, database: DatabaseNumber) -> Vec<TagRange> {
        let is_written = |placed: &&Placed| placed.moving_to.unwrap_or(placed.database) == database;
        self.placed.iter().filter(is_written).map(|placed| placed.range).collect()
    }

    /// What is read there: what is there, also while it is on its way to another one.
    pub(crate) fn read_in(&self, database: DatabaseNumber) -> Vec<TagRange> {
        self.placed.iter().filter(|placed| placed.database == database).map(|placed| placed.range).collect()
    }

    /// The same with what is in this range on its way to `to`; ranges are cut where it begins and ends.
    pub(crate) fn moving(&self, range: TagRange, to: DatabaseNumber) -> Vec<Placed> {
        self.cut(range, |placed| {
            let is_there = placed.database == to && placed.moving_to.is_none();
            Placed { moving_to: (!is_there).then_some(to), ..placed }
        })
    }

    /// The same with what is on its way in this range read where it goes.
    pub(crate) fn copied(&self, range: TagRange) -> Vec<Placed> {
        self.cut(range, |placed| Placed { database: placed.moving_to.unwrap_or(placed.database), ..placed })
    }

    /// The same with what is on its way in this range arrived. Neighbours in one database become one.
    pub(crate) fn arrived(&self, range: TagRange) -> Vec<Placed> {
        let arrived = self.cut(range, |placed| Placed {
            database: placed.moving_to.unwrap_or(placed.database),
            moving_to: None,
            ..placed
        });
        let mut joined: Vec<Placed> = Vec::new();
        for placed in arrived {
            match joined.last_mut() {
                Some(last) if (last.database, last.moving_to) == (placed.database, placed.moving_to) => {
                    last.range.last = placed.range.last;
                }
                Some(_) | None => joined.push(placed),
            }
        }
        joined
    }

    fn cut(&self, range: TagRange, change: impl Fn(Placed) -> Placed) -> Vec<Placed> {
        let mut cut = Vec::new();
        for placed in &self.placed {
            let part = |range: Option<TagRange>| range.map(|range| Placed { range, ..*placed });
            let before =
                range.first.0.checked_sub(1).and_then(|last| {
                    placed.range.both(TagRange { first: ShardTag(0), last: ShardTag(last) })
                });
            let behind = range.last.0.checked_add(1).and_then(|first| {
                placed.range.both(TagRange { first: ShardTag(first), last: ShardTag(u16::MAX) })
            });
            cut.extend(part(before));
            cut.extend(part(placed.range.both(range)).map(&change));
            cut.extend(part(behind));
        }
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(placed: Vec<Placed>) -> ShardMap {
        ShardMap::new(1, placed).expect("no gap")
    }

    fn shown(placed: &[Placed]) -> Vec<String> {
        let to = |placed: &Placed| placed.moving_to.map(|to| format!(">{to}")).unwrap_or_default();
        placed.iter().map(|placed| format!("{}:{}{}", placed.range, placed.database, to(placed))).collect()
    }

    #[test]
    fn every_tag_is_in_one_database() {
        for count in [1, 2, 3, 7, 100] {
            let map = map(ShardMap::even(count));
            for tag in (0..=u16::MAX).map(ShardTag) {
                let placed = map.of(tag).expect("somewhere");
                assert!(placed.range.has(tag) && (1..=count).contains(&placed.database.0));
            }
        }
        assert_eq!(shown(&ShardMap::even(3)), ["0000-5554:1", "5555-aaa9:2", "aaaa-ffff:3"]);
    }

    #[test]
    fn a_range_is_cut_out_and_joined_again() {
        let map_of = |range: &str, map_before: &ShardMap, to: usize| {
            let range: TagRange = range.parse().expect("a range");
            let moving = map(map_before.moving(range, DatabaseNumber(to)));
            (shown(moving.placed()), map(moving.arrived(range)))
        };
        let moving =
            map(map(ShardMap::even(2)).moving("4000-9fff".parse().expect("a range"), DatabaseNumber(2)));
        let copied = map(moving.copied("4000-9fff".parse().expect("a range")));
        assert_eq!(shown(copied.placed()), ["0000-3fff:1", "4000-7fff:2>2", "8000-9fff:2", "a000-ffff:2"]);
        let again = copied.moving("4000-9fff".parse().expect("a range"), DatabaseNumber(2));
        assert_eq!(shown(&again), shown(copied.placed()), "whoever goes on finds it as it was");
        let (moving, moved) = map_of("4000-9fff", &map(ShardMap::even(2)), 2);
        assert_eq!(moving, ["0000-3fff:1", "4000-7fff:1>2", "8000-9fff:2", "a000-ffff:2"]);
        assert_eq!(shown(moved.placed()), ["0000-3fff:1", "4000-ffff:2"]);
        let (_, back) = map_of("0000-ffff", &moved, 1);
        assert_eq!(shown(back.placed()), ["0000-ffff:1"]);
    }

    #[test]
    fn what_moves_is_read_where_it_was_and_written_nowhere_else_than_where_it_goes() {
        let range = "8000-ffff".parse().expect("a range");
        let moving = map(map(ShardMap::even(2)).moving(range, DatabaseNumber(1)));
        assert_eq!(moving.read_in(DatabaseNumber(2)), [range]);
        assert_eq!(moving.written_in(DatabaseNumber(2)), []);
        assert_eq!(moving.written_in(DatabaseNumber(1)).len(), 2);
    }

    #[test]
    fn ranges_read_back_and_others_are_refused() {
        assert_eq!(
            "8000-ffff".parse::<TagRange>().map(|range| range.to_string()),
            Ok("8000-ffff".to_owned())
        );
        for bad in ["", "8000", "ffff-8000", "+800-ffff", "8000-10000", "8-f", "80000000-ffff"] {
            assert!(bad.parse::<TagRange>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_gap_is_no_map() {
        let one = ShardMap::even(2)[0];
        assert_eq!(ShardMap::new(1, vec![one]), None);
        assert_eq!(ShardMap::new(1, vec![one, one]), None);
        assert_eq!(ShardMap::new(1, Vec::new()), None);
    }
}
