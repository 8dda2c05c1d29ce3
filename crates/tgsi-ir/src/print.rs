//! A function as text, for dumps and tests.
//!
//! Values come first, one a line, by their place in the arena (`%7`), then the tree with its
//! regions indented. The text is a function of the content alone.

use std::fmt::{Display, Formatter, Result, Write};

use tgsi::File;

use crate::ir::*;

const CHANNELS: [char; 4] = ['x', 'y', 'z', 'w'];

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "{}", self.stage.name())?;
        for (flag, name) in [
            (self.zero_wins, "zero_wins"),
            (self.first_era, "first_era"),
            (self.out_memory, "out_memory"),
        ] {
            if flag {
                writeln!(f, "{name}")?;
            }
        }
        for (first, last, id) in &self.arrays {
            writeln!(f, "array TEMP[{first}..{last}]({id})")?;
        }
        for (v, d) in self.values.iter() {
            write!(f, "%{}{} = ", ix(v), if d.wide { ":64" } else { "" })?;
            self.value(f, d)?;
            writeln!(f)?;
        }
        writeln!(f, "body")?;
        self.body(f, &self.body, 1)?;
        if let Some(args) = &self.end_args {
            write!(f, "end")?;
            for ((reg, chan), &v) in self.outputs.iter().zip(args) {
                write!(f, " OUT[{reg}].{}=%{}", channel(*chan), ix(v))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn channel(c: u8) -> char {
    CHANNELS[c as usize & 3]
}

fn list(f: &mut Formatter<'_>, values: &[Value]) -> Result {
    for (i, &v) in values.iter().enumerate() {
        write!(f, "{}%{}", if i == 0 { "" } else { ", " }, ix(v))?;
    }
    Ok(())
}

fn index(f: &mut Formatter<'_>, i: RefIndex) -> Result {
    f.write_char('[')?;
    if i.relative {
        write!(f, "addr{:+}", i.base)?;
    } else {
        write!(f, "{}", i.base)?;
    }
    f.write_char(']')?;
    if i.array != 0 {
        write!(f, "({})", i.array)?;
    }
    Ok(())
}

fn ref_of(i: tgsi::Index) -> RefIndex {
    RefIndex {
        base: i.base,
        relative: i.addr.is_some(),
        array: i.array,
    }
}

fn register(f: &mut Formatter<'_>, r: &tgsi::Register) -> Result {
    write!(f, "{}", r.file.name())?;
    if let Some(d) = r.dim {
        index(f, ref_of(d))?;
    }
    index(f, ref_of(r.index))
}

fn slot(f: &mut Formatter<'_>, s: Slot) -> Result {
    match s {
        Slot::Src(k, c) => write!(f, "{k}.{}", channel(c)),
        Slot::SrcDim(k) => write!(f, "{k}.dim"),
        Slot::SrcIndex(k) => write!(f, "{k}.index"),
        Slot::DstDim => write!(f, "dst.dim"),
        Slot::DstIndex => write!(f, "dst.index"),
        Slot::Offset(k, c) => write!(f, "offset{k}.{}", channel(c)),
    }
}

/// See [`Function::operation`].
struct Operation<'a>(&'a Function, Value);

impl Display for Operation<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.0.value(f, &self.0.values[self.1])
    }
}

impl Function {
    /// A value's operation as dumps show it, without its number.
    pub fn operation(&self, v: Value) -> impl Display + '_ {
        Operation(self, v)
    }

    fn value(&self, f: &mut Formatter<'_>, d: &ValueData) -> Result {
        let precise = if d.precise { "_PRECISE" } else { "" };
        match d.op {
            VOp::Imm(w) => {
                let x = f32::from_bits(w);
                return if w == 0 || (x.is_finite() && x.abs() >= 1e-6 && x.abs() < 1e9) {
                    write!(f, "imm {w:#x} ({x:?})")
                } else {
                    write!(f, "imm {w:#x}")
                };
            }
            VOp::Undef(n) => return write!(f, "undef {n}"),
            VOp::Reg(r, c) => {
                match self.regs.get(r.0 as usize) {
                    Some(r) => {
                        write!(f, "{}", r.file.name())?;
                        if let Some(i) = r.dim {
                            index(f, i)?;
                        }
                        index(f, r.index)?;
                    }
                    None => write!(f, "?")?,
                }
                write!(f, ".{}", channel(c))?;
            }
            VOp::Alu(op) => write!(f, "{}{precise}", op.name())?,
            VOp::Neg => write!(f, "neg")?,
            VOp::Abs => write!(f, "abs")?,
            VOp::INeg => write!(f, "ineg")?,
            VOp::Sat => write!(f, "sat")?,
            VOp::Pair => write!(f, "pair")?,
            VOp::Half(h) => write!(f, "half{h}")?,
            VOp::Multi(m) => return self.multi_text(f, m, d, precise),
            VOp::Proj(c) => write!(f, "proj{}.{}", c / 4, channel(c))?,
            VOp::Phi(_) => return write!(f, "phi"),
        }
        if !d.args.is_empty() {
            write!(f, " ")?;
        }
        list(f, &d.args)
    }

    fn multi_text(
        &self,
        f: &mut Formatter<'_>,
        m: MultiId,
        d: &ValueData,
        precise: &str,
    ) -> Result {
        let Some(m) = self.multis.get(m.0 as usize) else {
            return write!(f, "?");
        };
        let name = match m.kind {
            MultiKind::Load => "load",
            MultiKind::Store => "store",
            _ => m.inst.op.name(),
        };
        let sat = if m.inst.sat { "_SAT" } else { "" };
        write!(f, "{name}{sat}{precise}")?;
        if m.results != 0 {
            write!(f, " ")?;
            for (k, part) in [m.results & 15, m.results >> 4]
                .into_iter()
                .enumerate()
                .filter(|p| p.1 != 0)
            {
                write!(f, "{k}.")?;
                (0..4)
                    .filter(|c| part >> c & 1 != 0)
                    .try_for_each(|c| f.write_char(channel(c)))?;
            }
        }
        if let Some(t) = m.inst.target {
            write!(f, " {}", t.name())?;
        }
        for dst in m.inst.dsts.iter().filter(|d| d.reg.file != File::Null) {
            write!(f, " ")?;
            register(f, &dst.reg)?;
            write!(f, " <-")?;
        }
        for src in m.inst.srcs.iter().filter(|s| s.reg.file != File::Null) {
            write!(f, " ")?;
            register(f, &src.reg)?;
        }
        for (&s, &a) in m.slots.iter().zip(&d.args) {
            write!(f, " ")?;
            slot(f, s)?;
            write!(f, "=%{}", ix(a))?;
        }
        Ok(())
    }

    fn args(
        &self,
        f: &mut Formatter<'_>,
        depth: usize,
        word: &str,
        args: Option<&[Value]>,
    ) -> Result {
        let Some(args) = args else { return Ok(()) };
        write!(f, "{:1$}{word} ", "", 2 * depth)?;
        list(f, args)?;
        writeln!(f)
    }

    /// The head of a region: its word and its phis.
    fn head(&self, f: &mut Formatter<'_>, depth: usize, word: &str, phis: &[Value]) -> Result {
        write!(f, "{:1$}", "", 2 * depth)?;
        if !phis.is_empty() {
            list(f, phis)?;
            write!(f, " = ")?;
        }
        writeln!(f, "{word}")
    }

    fn body(&self, f: &mut Formatter<'_>, body: &Body, depth: usize) -> Result {
        for item in &body.items {
            self.item(f, item, depth)?;
        }
        Ok(())
    }

    fn item(&self, f: &mut Formatter<'_>, item: &Item, depth: usize) -> Result {
        match item {
            Item::Effect(v) => writeln!(f, "{:1$}do %{2}", "", 2 * depth, ix(*v)),
            Item::If(i) => {
                let word = format!("{} %{}", if i.bits { "uif" } else { "if" }, ix(i.cond));
                self.head(f, depth, &word, &i.results)?;
                self.body(f, &i.then, depth + 1)?;
                self.args(f, depth + 1, "yield", i.then_args.as_deref())?;
                writeln!(f, "{:1$}else", "", 2 * depth)?;
                self.body(f, &i.els, depth + 1)?;
                self.args(f, depth + 1, "yield", i.else_args.as_deref())
            }
            Item::Loop(l) => {
                self.head(f, depth, &format!("loop {}", l.id.0), &l.results)?;
                self.args(f, depth + 1, "params", Some(&l.params))?;
                self.args(f, depth + 1, "inits", Some(&l.inits))?;
                self.body(f, &l.body, depth + 1)?;
                self.args(f, depth + 1, "next", l.back.as_deref())
            }
            Item::Switch(s) => {
                self.head(
                    f,
                    depth,
                    &format!("switch {} %{}", s.id.0, ix(s.selector)),
                    &s.results,
                )?;
                for c in &s.cases {
                    let word = c
                        .label
                        .map_or("default".to_owned(), |l| format!("case %{}", ix(l)));
                    self.head(f, depth, &word, &c.params)?;
                    self.args(f, depth + 1, "entry", Some(&c.entry))?;
                    self.args(f, depth + 1, "fall", c.fall.as_deref())?;
                    self.body(f, &c.body, depth + 1)?;
                }
                self.args(f, depth + 1, "yield", s.end_args.as_deref())?;
                self.args(f, depth + 1, "none", s.none_args.as_deref())
            }
            Item::Depart(FUNCTION, args) => self.args(f, depth, "return", Some(args)),
            Item::Depart(id, args) => self.args(f, depth, &format!("depart {}", id.0), Some(args)),
            Item::Repeat(id, args) => self.args(f, depth, &format!("repeat {}", id.0), Some(args)),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::lift;

    #[track_caller]
    fn check(text: &str, expected: expect_test::Expect) {
        let (program, _) = tgsi::parse(text);
        let f = lift(&program).unwrap_or_else(|e| panic!("{e}"));
        expected.assert_eq(&f.to_string());
        assert_eq!(f.to_string(), f.clone().to_string());
    }

    #[test]
    fn straight_code() {
        check(
            "FRAG\nDCL IN[0], GENERIC[0]\nDCL OUT[0], COLOR\nDCL CONST[1][0..3]\nDCL SAMP[0]\nIMM[0] FLT32 {1.0, 0.5, 0.0, 0.0}\n\
             TEX TEMP[0], IN[0], SAMP[0], 2D\nMAD_SAT TEMP[1].xy, TEMP[0], -IMM[0].yyyy, |CONST[1][2]|\n\
             MUL_PRECISE OUT[0].x, TEMP[1].xxxx, TEMP[1].yyyy\nDADD OUT[0].zw, TEMP[0].xyzw, IN[0].xyzw\nEND\n",
            expect![[r#"
                FRAG
                %0 = IN[0].x
                %1 = IN[0].y
                %2 = TEX 0.xyzw 2D SAMP[0] 0.x=%0 0.y=%1
                %3 = proj0.x %2
                %4 = proj0.y %2
                %5 = proj0.z %2
                %6 = proj0.w %2
                %7 = imm 0x3f000000 (0.5)
                %8 = neg %7
                %9 = CONST[1][2].x
                %10 = abs %9
                %11 = MAD %3, %8, %10
                %12 = sat %11
                %13 = CONST[1][2].y
                %14 = abs %13
                %15 = MAD %4, %8, %14
                %16 = sat %15
                %17 = MUL_PRECISE %12, %16
                %18:64 = pair %5, %6
                %19 = IN[0].z
                %20 = IN[0].w
                %21:64 = pair %19, %20
                %22:64 = DADD %18, %21
                %23 = half0 %22
                %24 = half1 %22
                body
                  do %2
                end OUT[0].x=%17 OUT[0].z=%23 OUT[0].w=%24
            "#]],
        );
    }

    #[test]
    fn regions() {
        check(
            "FRAG\nDCL IN[0], GENERIC[0]\nDCL OUT[0], COLOR\nIMM[0] UINT32 {0, 1, 2, 3}\n\
             MOV TEMP[0].x, IMM[0].xxxx\nBGNLOOP\nUSGE TEMP[1].x, TEMP[0].xxxx, IMM[0].wwww\nUIF TEMP[1].xxxx\nBRK\nENDIF\n\
             UADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\nUIF IN[0].xxxx\nCONT\nENDIF\nKILL\nENDLOOP\n\
             SWITCH TEMP[0].xxxx\nCASE IMM[0].yyyy\nMOV TEMP[2].x, IN[0].yyyy\nBRK\nDEFAULT\nMOV TEMP[2].x, IN[0].zzzz\nENDSWITCH\n\
             IF IN[0].wwww\nRET\nENDIF\nMOV OUT[0].x, TEMP[2].xxxx\nEND\n",
            expect![[r#"
                FRAG
                %0 = imm 0x0 (0.0)
                %1 = undef 4
                %2 = phi
                %3 = phi
                %4 = imm 0x3
                %5 = USGE %2, %4
                %6 = imm 0x1
                %7 = UADD %2, %6
                %8 = IN[0].x
                %9 = KILL
                %10 = phi
                %11 = undef 8
                %12 = phi
                %13 = IN[0].y
                %14 = phi
                %15 = IN[0].z
                %16 = phi
                %17 = IN[0].w
                %18 = undef 12
                body
                  %10 = loop 3
                    params %2, %3
                    inits %0, %1
                    uif %5
                      depart 3 %2
                    else
                      yield 
                    uif %8
                      repeat 3 %7, %5
                    else
                      yield 
                    do %9
                    next %7, %5
                  %16 = switch 5 %10
                  %12 = case %6
                    entry %11
                    depart 5 %13
                  %14 = default
                    entry %11
                    yield %15
                  if %17
                    return %18
                  else
                    yield 
                end OUT[0].x=%16
            "#]],
        );
    }

    #[test]
    fn memory() {
        check(
            "FRAG\nDCL IN[0], GENERIC[0]\nDCL OUT[0], COLOR\nDCL BUFFER[0]\nDCL TEMP[0..3], ARRAY(1), LOCAL\nDCL ADDR[0]\nDCL CONST[0..7]\n\
             UARL ADDR[0].x, IN[0].xxxx\nMOV TEMP[ADDR[0].x+1](1).xy, CONST[ADDR[0].x+2]\nSTORE BUFFER[0].x, IN[0].xxxx, IN[0].yyyy\n\
             MOV OUT[0].x, TEMP[2].xxxx\nEND\n",
            expect![[r#"
                FRAG
                array TEMP[0..3](1)
                %0 = IN[0].x
                %1 = CONST[addr+2].x %0
                %2 = CONST[addr+2].y %0
                %3 = store TEMP[addr+1](1) <- 0.x=%1 0.y=%2 dst.index=%0
                %4 = IN[0].y
                %5 = STORE BUFFER[0] <- 0.x=%0 1.x=%4
                %6 = load 0.xyzw TEMP[2]
                %7 = proj0.x %6
                body
                  do %3
                  do %5
                  do %6
                end OUT[0].x=%7
            "#]],
        );
    }
}
