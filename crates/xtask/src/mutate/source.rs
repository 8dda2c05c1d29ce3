//! Mutants of Rust source.
//!
//! All mutants of a file live in one text: the expression at each point becomes
//! `if on(1) { changed } else { as it was }`, so that one build serves for all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anyhow::{Context as _, Result};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, ExprLit, ImplItemFn, Item, ItemFn, Lit, Stmt, UnOp};

/// A change of a file.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// Line of what is changed, from 1.
    pub(crate) line: usize,
    /// What is changed, in a few words.
    pub(crate) change: String,
    /// The function it is in.
    pub(crate) function: String,
    /// The bytes that it stands for.
    pub(crate) range: Range<usize>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Another expression in place of this one.
    Expr(String),
    /// A statement that is not run.
    Skip,
    /// A guard of the match arm behind that place, joined with one that is there.
    Arm { guard: Option<Range<usize>> },
    /// A statement at the beginning of a block.
    First(String),
}

/// The mutants of a text, in its order; functions named in `leave` stay as they are.
pub(crate) fn mutants(text: &str, leave: &[&str]) -> Result<Vec<Mutant>> {
    let file = syn::parse_file(text).context("not Rust")?;
    let mut finder = Finder {
        text,
        leave,
        function: String::new(),
        found: Vec::new(),
        constants: Vec::new(),
    };
    finder.visit_file(&file);
    let mut found = finder.found;
    found.sort_by_key(|m| (m.range.start, usize::MAX - m.range.end));
    // What is changed names a mutant of a function, also where lines move.
    let mut told: BTreeMap<(String, String), u32> = BTreeMap::new();
    for m in &mut found {
        let n = told
            .entry((m.function.clone(), m.change.clone()))
            .or_default();
        *n += 1;
        if *n > 1 {
            m.change += &format!(" ({n})");
        }
    }
    Ok(found)
}

/// The functions of a text that are `const`: where the word stands, and their names.
pub(crate) fn const_functions(text: &str) -> Result<Vec<(String, Range<usize>)>> {
    let file = syn::parse_file(text).context("not Rust")?;
    let mut finder = Finder {
        text,
        leave: &[],
        function: String::new(),
        found: Vec::new(),
        constants: Vec::new(),
    };
    finder.visit_file(&file);
    Ok(finder.constants)
}

/// The mutants that stand in a range of a written text.
pub(crate) type Place = (Range<usize>, Vec<u32>);

/// The text with every mutant in it, by its number, and where each of them stands; `on` is the path
/// of the switch. The words at `blank` are left out.
pub(crate) fn schema(
    text: &str,
    mutants: &[(u32, &Mutant)],
    blank: &[Range<usize>],
    on: &str,
) -> (String, Vec<Place>) {
    let mut order: Vec<&(u32, &Mutant)> = mutants.iter().collect();
    order.sort_by_key(|m| (m.1.range.start, usize::MAX - m.1.range.end, m.0));
    let mut writer = Writer {
        text,
        order,
        next: 0,
        blank,
        on,
        out: String::new(),
        places: Vec::new(),
    };
    writer.fill(0..text.len());
    (writer.out, writer.places)
}

struct Writer<'a> {
    text: &'a str,
    order: Vec<&'a (u32, &'a Mutant)>,
    next: usize,
    blank: &'a [Range<usize>],
    on: &'a str,
    out: String,
    places: Vec<Place>,
}

impl Writer<'_> {
    /// Writes a range with the mutants that begin in it.
    fn fill(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while let Some((_, m)) = self.order.get(self.next) {
            let here = m.range.clone();
            if here.start >= range.end {
                break;
            }
            self.plain(at..here.start);
            let first = self.next;
            while self
                .order
                .get(self.next)
                .is_some_and(|(_, m)| m.range == here)
            {
                self.next += 1;
            }
            let group: Vec<(u32, &Mutant)> = self.order[first..self.next]
                .iter()
                .map(|(n, m)| (*n, *m))
                .collect();
            self.group(&group, here.clone());
            at = here.end;
        }
        self.plain(at..range.end);
    }

    fn plain(&mut self, range: Range<usize>) {
        let mut at = range.start;
        for b in self.blank.iter().filter(|b| range.contains(&b.start)) {
            self.out.push_str(&self.text[at..b.start]);
            at = b.end;
        }
        self.out.push_str(&self.text[at..range.end]);
    }

    /// The mutants of one place.
    fn group(&mut self, group: &[(u32, &Mutant)], range: Range<usize>) {
        let on = self.on;
        let start = self.out.len();
        match &group[0].1.kind {
            Kind::Expr(_) => {
                self.out.push('(');
                for (n, m) in group {
                    if let Kind::Expr(new) = &m.kind {
                        let start = self.out.len();
                        self.out += &format!("if {on}({n}) {{ {new} }} else ");
                        self.places.push((start..self.out.len(), vec![*n]));
                    }
                }
                self.out.push_str("{ ");
                self.fill(range);
                self.out.push_str(" })");
            }
            Kind::Skip => {
                let n = group[0].0;
                self.out += &format!("if !{on}({n}) {{ ");
                self.fill(range);
                self.out.push_str(" }");
            }
            Kind::Arm { guard } => {
                let n = group[0].0;
                match guard {
                    None => self.out += &format!(" if !{on}({n}) "),
                    Some(guard) => {
                        self.out += &format!(" if !{on}({n}) && (");
                        self.fill(guard.clone());
                        self.out.push(')');
                    }
                }
            }
            Kind::First(_) => {
                for (n, m) in group {
                    if let Kind::First(new) = &m.kind {
                        let start = self.out.len();
                        self.out += &format!(" if {on}({n}) {{ {new} }} ");
                        self.places.push((start..self.out.len(), vec![*n]));
                    }
                }
            }
        }
        let numbers = group.iter().map(|(n, _)| *n).collect();
        self.places.push((start..self.out.len(), numbers));
    }
}

struct Finder<'a> {
    text: &'a str,
    leave: &'a [&'a str],
    function: String,
    found: Vec<Mutant>,
    constants: Vec<(String, Range<usize>)>,
}

/// Operators that take each other's place.
fn siblings(op: &BinOp) -> &'static [&'static str] {
    match op {
        BinOp::Add(_) => &["-"],
        BinOp::Sub(_) => &["+"],
        BinOp::Mul(_) => &["+"],
        BinOp::Div(_) => &["*"],
        BinOp::Rem(_) => &["/"],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::BitXor(_) => &["|"],
        BinOp::BitAnd(_) => &["|"],
        BinOp::BitOr(_) => &["&"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::Lt(_) => &["<=", ">="],
        BinOp::Le(_) => &["<", ">"],
        BinOp::Ge(_) => &[">", "<"],
        BinOp::Gt(_) => &[">=", "<="],
        BinOp::AddAssign(_) => &["-="],
        BinOp::SubAssign(_) => &["+="],
        BinOp::MulAssign(_) => &["+="],
        BinOp::BitXorAssign(_) => &["|="],
        BinOp::BitAndAssign(_) => &["|="],
        BinOp::BitOrAssign(_) => &["&="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        _ => &[],
    }
}

/// Methods that take each other's place.
const METHODS: [(&str, &str); 17] = [
    ("min", "max"),
    ("any", "all"),
    ("is_some", "is_none"),
    ("is_some_and", "is_none_or"),
    ("floor", "ceil"),
    ("wrapping_add", "wrapping_sub"),
    ("wrapping_mul", "wrapping_add"),
    ("wrapping_shl", "wrapping_shr"),
    ("rotate_left", "rotate_right"),
    ("leading_zeros", "trailing_zeros"),
    ("trailing_zeros", "count_ones"),
    ("count_ones", "count_zeros"),
    ("is_ok", "is_err"),
    ("then_some", "xor"),
    ("and_then", "or_else"),
    ("take", "skip"),
    ("min_by_key", "max_by_key"),
];

fn is_test(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|a| {
        let list = a.meta.require_list();
        a.path().is_ident("cfg") && list.is_ok_and(|l| l.tokens.to_string().contains("test"))
    })
}

fn has_let(e: &Expr) -> bool {
    match e {
        Expr::Let(_) => true,
        Expr::Binary(b) => has_let(&b.left) || has_let(&b.right),
        Expr::Paren(p) => has_let(&p.expr),
        _ => false,
    }
}

impl<'a> Finder<'a> {
    fn of(&self, range: &Range<usize>) -> &'a str {
        &self.text[range.clone()]
    }

    fn add(&mut self, range: Range<usize>, change: String, kind: Kind) {
        let line = self.text[..range.start].matches('\n').count() + 1;
        let change = change.split_whitespace().collect::<Vec<_>>().join(" ");
        self.found.push(Mutant {
            line,
            change,
            function: self.function.clone(),
            range,
            kind,
        });
    }

    fn replace(&mut self, range: Range<usize>, new: String) {
        let change = format!("{} -> {}", short(self.of(&range)), short(&new));
        self.add(range, change, Kind::Expr(new));
    }

    /// A condition may be negated, where no other mutant of it says the same.
    fn condition(&mut self, e: &Expr) {
        let same = match e {
            Expr::Binary(b) => !siblings(&b.op).is_empty(),
            Expr::Unary(u) => matches!(u.op, UnOp::Not(_)),
            _ => false,
        };
        if !has_let(e) && !same {
            let range = e.span().byte_range();
            let new = format!("!({})", self.of(&range));
            self.replace(range, new);
        }
    }

    fn literal(&mut self, e: &ExprLit) {
        let range = e.lit.span().byte_range();
        match &e.lit {
            Lit::Bool(b) => self.replace(range, (!b.value).to_string()),
            Lit::Int(n) => {
                let Ok(value) = n.base10_parse::<u128>() else {
                    return;
                };
                let suffix = n.suffix();
                if let Some(less) = value.checked_sub(1) {
                    self.replace(range.clone(), format!("{less}{suffix}"));
                }
                self.replace(range, format!("{}{suffix}", value + 1));
            }
            Lit::Float(x) => {
                let Ok(value) = x.base10_parse::<f64>() else {
                    return;
                };
                self.replace(range, format!("{:?}{}", value + 1.0, x.suffix()));
            }
            _ => {}
        }
    }

    /// A function that ends at once.
    fn early(&mut self, output: &syn::ReturnType, block: &Block) {
        let start = block.brace_token.span.open().byte_range().end;
        let values: Vec<String> = match output {
            syn::ReturnType::Default => vec![String::new()],
            syn::ReturnType::Type(_, ty) => {
                let text = self.of(&ty.span().byte_range());
                match text.split(['<', ' ']).next().unwrap_or_default() {
                    "bool" => vec!["true".into(), "false".into()],
                    "Option" => vec!["None".into()],
                    "Vec" => vec!["Vec::new()".into()],
                    "Check" | "Result<(), String>" => vec!["Ok(())".into()],
                    "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => vec!["0".into()],
                    "f32" | "f64" => vec!["0.0".into()],
                    _ => Vec::new(),
                }
            }
        };
        // A body of one literal would stay the same.
        let body = self.of(&block.span().byte_range());
        let body = body.trim_matches(['{', '}', ' ', '\n']).to_owned();
        for value in values.into_iter().filter(|v| *v != body) {
            let change = format!("{}() returns {value} at once", self.function);
            let kind = Kind::First(format!("return {value};"));
            self.add(start..start, change, kind);
        }
    }

    fn function(&mut self, sig: &syn::Signature, block: &Block) {
        let name = sig.ident.to_string();
        if let Some(c) = &sig.constness {
            self.constants.push((name.clone(), c.span.byte_range()));
        }
        if self.leave.contains(&name.as_str()) {
            return;
        }
        let outer = std::mem::replace(&mut self.function, name);
        self.early(&sig.output, block);
        visit::visit_block(self, block);
        self.function = outer;
    }
}

/// The beginning of a text on one line.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(60) {
        Some((i, _)) => format!("{}...", &line[..i]),
        None => line,
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_macro(&mut self, _: &'ast syn::Macro) {}
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_item(&mut self, item: &'ast Item) {
        let skipped = match item {
            Item::Mod(m) => is_test(&m.attrs),
            Item::Fn(f) => is_test(&f.attrs),
            // What a value looks like is no part of what is asked.
            Item::Impl(i) => i.trait_.as_ref().is_some_and(|(_, path, _)| {
                let last = path.segments.last();
                last.is_some_and(|s| s.ident == "Display" || s.ident == "Debug")
            }),
            _ => false,
        };
        if !skipped {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, f: &'ast ItemFn) {
        self.function(&f.sig, &f.block);
    }

    fn visit_impl_item_fn(&mut self, f: &'ast ImplItemFn) {
        self.function(&f.sig, &f.block);
    }

    fn visit_expr_repeat(&mut self, e: &'ast syn::ExprRepeat) {
        self.visit_expr(&e.expr);
    }

    fn visit_stmt(&mut self, stmt: &'ast Stmt) {
        if let Stmt::Expr(e, semi) = stmt {
            let range = stmt.span().byte_range();
            let does = match e {
                Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) | Expr::Return(_) => {
                    semi.is_some()
                }
                Expr::Continue(_) | Expr::Break(_) => semi.is_some(),
                Expr::Binary(b) => semi.is_some() && b.op.span().byte_range().len() > 1,
                Expr::If(i) => i.else_branch.is_none(),
                Expr::ForLoop(_) => true,
                _ => false,
            };
            if does {
                let change = format!("without {}", short(self.of(&range)));
                self.add(range, change, Kind::Skip);
            }
        }
        visit::visit_stmt(self, stmt);
    }

    fn visit_expr(&mut self, e: &'ast Expr) {
        let range = e.span().byte_range();
        match e {
            // How much room there is at first is no part of a result.
            Expr::Call(c)
                if self
                    .of(&c.func.span().byte_range())
                    .ends_with("with_capacity") =>
            {
                return;
            }
            Expr::Binary(b) if !has_let(e) => {
                let [left, right] = [&b.left, &b.right].map(|x| x.span().byte_range());
                for op in siblings(&b.op) {
                    let (l, r) = (self.of(&left), self.of(&right));
                    let assigns = matches!(*op, "+=" | "-=" | "|=" | "&=" | "<<=" | ">>=");
                    let new = match assigns {
                        true => format!("{l} {op} {r}"),
                        false => format!("({l}) {op} ({r})"),
                    };
                    let change = format!("{} -> {op}", short(self.of(&range)));
                    self.add(range.clone(), change, Kind::Expr(new));
                }
            }
            Expr::Unary(u) if matches!(u.op, UnOp::Not(_) | UnOp::Neg(_)) => {
                let literal = matches!(&*u.expr, Expr::Lit(_));
                let inner = self.of(&u.expr.span().byte_range()).to_owned();
                self.replace(range, inner);
                if literal {
                    return;
                }
            }
            Expr::If(i) => self.condition(&i.cond),
            Expr::While(w) => self.condition(&w.cond),
            Expr::Lit(l) => self.literal(l),
            Expr::MethodCall(m) => {
                let name = m.method.to_string();
                let other = METHODS.iter().find_map(|&(a, b)| match &name {
                    n if n == a => Some(b),
                    n if n == b => Some(a),
                    _ => None,
                });
                if let Some(other) = other {
                    let at = m.method.span().byte_range();
                    let text = self.of(&range);
                    let (head, tail) = (at.start - range.start, at.end - range.start);
                    let new = format!("{}{other}{}", &text[..head], &text[tail..]);
                    let change = format!("{} -> {other}", short(text));
                    self.add(range, change, Kind::Expr(new));
                }
            }
            Expr::Match(m) => {
                // A name in upper case, such as `None`, is no variable.
                let open = m.arms.last().is_some_and(|a| match &a.pat {
                    syn::Pat::Wild(_) => true,
                    syn::Pat::Ident(i) => i.ident.to_string().starts_with(char::is_lowercase),
                    _ => false,
                });
                if open {
                    for arm in &m.arms[..m.arms.len() - 1] {
                        let pat = arm.pat.span().byte_range();
                        let change = format!("without the arm {}", short(self.of(&pat)));
                        let guard = arm.guard.as_ref().map(|g| g.1.span().byte_range());
                        let end = guard.as_ref().map_or(pat.end, |g| g.end);
                        if arm.guard.as_ref().is_none_or(|g| !has_let(&g.1)) {
                            self.add(pat.end..end, change, Kind::Arm { guard });
                        }
                    }
                }
            }
            _ => {}
        }
        visit::visit_expr(self, e);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            self.condition(guard);
        }
        visit::visit_arm(self, arm);
    }
}

/// Names of functions whose `const` the compiler needs, from its message.
pub(crate) fn needed_const(message: &str, known: &mut BTreeSet<String>) -> bool {
    let Some(path) = message.split('`').nth(1) else {
        return false;
    };
    let name = path.rsplit("::").next().unwrap_or(path);
    message.contains("non-const") && known.insert(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(text: &str) -> Vec<String> {
        let found = mutants(text, &["told"]).expect("Rust");
        found.into_iter().map(|m| m.change).collect()
    }

    #[test]
    fn operators_conditions_and_constants() {
        assert_eq!(
            changes("fn f(a: u32) -> S { if g(a) { s(a + 1) } else { t(a < 0) } }"),
            [
                "g(a) -> !(g(a))",
                "a + 1 -> -",
                "1 -> 0",
                "1 -> 2",
                "a < 0 -> <=",
                "a < 0 -> >=",
                "0 -> 1"
            ]
        );
    }

    #[test]
    fn statements_arms_and_returns() {
        assert_eq!(
            changes("fn f(x: X) -> bool { g(); match x { X::A if y => true, _ => z } }"),
            [
                "f() returns true at once",
                "f() returns false at once",
                "without g();",
                "without the arm X::A",
                "y -> !(y)",
                "true -> false",
            ]
        );
    }

    #[test]
    fn tests_and_texts_stay() {
        let text = "const A: u32 = 1; #[cfg(test)] mod tests { fn f() { g(); } } fn told() { g(1); } \
                    impl fmt::Display for A { fn fmt(&self) { g(1) } }";
        assert_eq!(changes(text), [""; 0]);
    }

    #[test]
    fn equal_changes_are_numbered() {
        let found = changes("fn f() -> S { s(0, 0) } fn g() -> S { s(0) }");
        assert_eq!(found, ["0 -> 1", "0 -> 1 (2)", "0 -> 1"]);
    }

    #[test]
    fn one_text_has_all() {
        let text = "fn f(a: u32) -> S { s(a + 1) }";
        let found = mutants(text, &[]).expect("Rust");
        let numbered: Vec<(u32, &Mutant)> = (7..).zip(&found).collect();
        assert_eq!(
            schema(text, &numbered, &[], "on").0,
            "fn f(a: u32) -> S { s((if on(7) { (a) - (1) } else { \
             a + (if on(8) { 0 } else if on(9) { 2 } else { 1 }) })) }"
        );
        let arm = "fn f() -> S { match x { A if y => s(), _ => t() } }";
        let found = mutants(arm, &[]).expect("Rust");
        let numbered: Vec<(u32, &Mutant)> = (1..).zip(&found).collect();
        let (text, _) = schema(arm, &numbered, &[], "on");
        assert!(text.contains("A if !on(1) && ((if on(2)"), "{text}");
    }
}
