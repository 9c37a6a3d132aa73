//! Tables for people, as kubectl writes them.

/// How many blanks are between columns.
const PADDING: usize = 3;
/// How wide a column is at least, the blanks behind it included.
const MIN_WIDTH: usize = 6;

/// Lines of columns that stay as wide as they were, so that later lines stand below earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Table {
    widths: Vec<usize>,
}

impl Table {
    /// The text of some lines.
    pub fn lines(&mut self, rows: &[Vec<String>]) -> String {
        for row in rows {
            for (at, cell) in row.iter().enumerate() {
                // The last column has nothing behind it.
                let is_last = at + 1 == row.len();
                let width = if is_last { 0 } else { (cell.chars().count() + PADDING).max(MIN_WIDTH) };
                match self.widths.get_mut(at) {
                    Some(known) => *known = width.max(*known),
                    None => self.widths.push(width),
                }
            }
        }
        let mut text = String::new();
        for row in rows {
            for (at, cell) in row.iter().enumerate() {
                text.push_str(cell);
                if at + 1 < row.len() {
                    text.extend(std::iter::repeat_n(
                        ' ',
                        self.widths[at].saturating_sub(cell.chars().count()),
                    ));
                }
            }
            text.push('\n');
        }
        text
    }
}

/// The text of a whole table.
pub(crate) fn text(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut all = vec![header.iter().map(ToString::to_string).collect::<Vec<String>>()];
    all.extend(rows);
    Table::default().lines(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let rows = vec![
            vec!["x".to_owned(), "yy".into(), "z".into()],
            vec!["longer".into(), String::new(), "zz".into()],
        ];
        assert_eq!(text(&["A", "B", "C"], rows), "A        B     C\nx        yy    z\nlonger         zz\n");
    }

    #[test]
    fn widths_are_remembered() {
        let mut table = Table::default();
        let row = |a: &str| vec![vec![a.to_owned(), "b".to_owned()]];
        assert_eq!(table.lines(&row("longer")), "longer   b\n");
        assert_eq!(table.lines(&row("x")), "x        b\n");
    }
}
