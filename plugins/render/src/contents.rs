//! The files in two archives, compared, as a sentence.

use urldb_protocol::{Contents, MemberChange, MemberDifference, TextDifference};

use crate::numbers::{count, number};
use crate::text::Text;

/// Most names in the sentence, of files and of folders.
const MOST_NAMES: usize = 5;

/// `repacked: the 132 files in it are the same`, or `2 of 132 files differ: configure, Makefile.in`.
pub fn contents_sentence(contents: &Contents) -> Text {
    let Contents {
        files,
        single,
        differing,
        folders,
        members,
    } = contents;
    let same = match files {
        1 => "the file in it is the same".to_owned(),
        _ => format!("the {} files in it are the same", number(*files)),
    };
    match (differing, folders) {
        (0, 0) => return Text::from(format!("repacked: {same}")),
        _ if *single => return Text::from("the file in it differs"),
        _ => {}
    }
    let is_folder = |member: &&MemberDifference| member.name.ends_with('/');
    let text = if *differing == 0 {
        Text::from(same)
    } else {
        let of = format!("{} of {}", number(*differing), count(*files, "file"));
        let names = members.iter().filter(|member| !is_folder(member));
        named(&of, names, *differing)
    };
    if *folders == 0 {
        return text;
    }
    let names = members.iter().filter(is_folder);
    let of = count(*folders, "folder");
    text.own("; ").and(named(&of, names, *folders))
}

/// `2 of 132 files differ: a, b (new)`: so many members, then the names of the first.
fn named<'a>(of: &str, members: impl Iterator<Item = &'a MemberDifference>, total: u64) -> Text {
    let verb = if total == 1 { "differs" } else { "differ" };
    let mut text = Text::from(format!("{of} {verb}"));
    let mut named = 0;
    for member in members.take(MOST_NAMES) {
        text = text.own(if named == 0 { ": " } else { ", " });
        text = text.path(&member.name).own(match member.change {
            MemberChange::Changed => "",
            MemberChange::Added => " (new)",
            MemberChange::Removed => " (gone)",
        });
        named += 1;
    }
    match total.saturating_sub(named) {
        0 => text,
        _ if named == 0 => text,
        more => text.own(format!(" and {} more", number(more))),
    }
}

/// `2 lines are new, 1 line is gone`.
pub(crate) fn text_difference_sentence(difference: &TextDifference) -> Text {
    let TextDifference {
        added,
        removed,
        appended_after,
        ..
    } = difference;
    let lines = |number: u64, what: &str| {
        let verb = if number == 1 { "is" } else { "are" };
        format!("{} {verb} {what}", count(number, "line"))
    };
    Text::from(match (appended_after, *added, *removed) {
        (Some(line), added, _) => format!(
            "{}, after line {}; the promised bytes before {} are unchanged",
            lines(added, "new at the end"),
            number(*line),
            if added == 1 { "it" } else { "them" },
        ),
        (None, 0, removed) => lines(removed, "gone"),
        (None, added, 0) => lines(added, "new"),
        (None, added, removed) => format!("{}, {}", lines(added, "new"), lines(removed, "gone")),
    })
}

#[cfg(test)]
mod tests {
    use urldb_protocol::Shown;

    use super::*;

    fn sentence(
        files: u64,
        differing: u64,
        folders: u64,
        names: &[(&str, MemberChange)],
    ) -> String {
        let members = names.iter().map(|(name, change)| MemberDifference {
            name: Shown::new(name, Shown::LONGEST),
            change: *change,
            text: None,
        });
        let contents = Contents {
            files,
            differing,
            folders,
            members: members.collect(),
            ..Contents::default()
        };
        contents_sentence(&contents).plain()
    }

    #[test]
    fn sentences_name_the_files_that_differ() {
        use MemberChange::{Added, Changed, Removed};
        let many: Vec<(&str, MemberChange)> = ["a", "b", "c", "d", "e", "f"]
            .map(|it| (it, Changed))
            .to_vec();
        let single = Contents {
            files: 1,
            single: true,
            ..Contents::default()
        };
        let other = Contents {
            differing: 1,
            ..single.clone()
        };
        let sentences = [
            sentence(132, 0, 0, &[]),
            sentence(1, 0, 0, &[]),
            sentence(
                132,
                2,
                0,
                &[("configure", Changed), ("Makefile.in", Changed)],
            ),
            sentence(1, 1, 0, &[("a", Changed)]),
            sentence(1_200, 3, 0, &[("a", Added), ("b", Removed), ("c", Changed)]),
            sentence(132, 7, 0, &many),
            sentence(132, 0, 1, &[("src/", Changed)]),
            sentence(
                132,
                1,
                2,
                &[("a", Changed), ("old/", Removed), ("src/", Added)],
            ),
            sentence(132, 4, 0, &[]),
            contents_sentence(&single).plain(),
            contents_sentence(&other).plain(),
        ];
        insta::assert_snapshot!(sentences.join("\n"));
    }
}
