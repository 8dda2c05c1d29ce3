//! Texture instructions of many targets, and derivatives.

use tgsi::{Stage, TexTarget};

use super::Gen;
use super::operands::{As, mask_text};
use crate::choices::Choices;

const TARGETS: &[TexTarget] = &[
    TexTarget::D2,
    TexTarget::D1,
    TexTarget::D3,
    TexTarget::Cube,
    TexTarget::Rect,
    TexTarget::Shadow1D,
    TexTarget::Shadow2D,
    TexTarget::ShadowRect,
    TexTarget::D1Array,
    TexTarget::D2Array,
    TexTarget::Shadow1DArray,
    TexTarget::Shadow2DArray,
    TexTarget::ShadowCube,
    TexTarget::D2Msaa,
    TexTarget::D2ArrayMsaa,
    TexTarget::CubeArray,
    TexTarget::ShadowCubeArray,
    TexTarget::Buffer,
];

/// The word of a target.
pub(super) fn target_name(target: TexTarget) -> &'static str {
    match target {
        TexTarget::Buffer => "BUFFER",
        TexTarget::D1 => "1D",
        TexTarget::D2 => "2D",
        TexTarget::D3 => "3D",
        TexTarget::Cube => "CUBE",
        TexTarget::Rect => "RECT",
        TexTarget::Shadow1D => "SHADOW1D",
        TexTarget::Shadow2D => "SHADOW2D",
        TexTarget::ShadowRect => "SHADOWRECT",
        TexTarget::D1Array => "1D_ARRAY",
        TexTarget::D2Array => "2D_ARRAY",
        TexTarget::Shadow1DArray => "SHADOW1D_ARRAY",
        TexTarget::Shadow2DArray => "SHADOW2D_ARRAY",
        TexTarget::ShadowCube => "SHADOWCUBE",
        TexTarget::D2Msaa => "2D_MSAA",
        TexTarget::D2ArrayMsaa => "2D_ARRAY_MSAA",
        TexTarget::CubeArray => "CUBEARRAY",
        TexTarget::ShadowCubeArray => "SHADOWCUBEARRAY",
        TexTarget::Unknown => "UNKNOWN",
    }
}

/// The samplers of a program.
pub(super) fn samplers(stage: Stage, c: &mut Choices<'_>) -> Vec<(TexTarget, &'static str)> {
    let most = if stage == Stage::Frag { 3 } else { 2 };
    (0..c.range(1, most))
        .map(|_| {
            let target = if c.chance(45) {
                TexTarget::D2
            } else {
                c.of(TARGETS).unwrap_or(TexTarget::D2)
            };
            (
                target,
                if is_shadow(target) || c.chance(80) {
                    "FLOAT"
                } else {
                    c.name(&["SINT", "UINT"])
                },
            )
        })
        .collect()
}

fn is_shadow(target: TexTarget) -> bool {
    target_name(target).starts_with("SHADOW")
}

/// What may fetch from a target; of those that need derivatives, only if there are any.
fn fetches(target: TexTarget, derivatives: bool) -> Vec<&'static str> {
    use TexTarget as T;
    let mut ops = Vec::new();
    let msaa = matches!(target, T::D2Msaa | T::D2ArrayMsaa);
    let plain = !msaa && target != T::Buffer;
    if !is_shadow(target) && !matches!(target, T::Cube | T::CubeArray) {
        ops.push("TXF");
    }
    if plain && target != T::ShadowCubeArray {
        if derivatives {
            ops.push("TEX");
        }
        if !matches!(target, T::Shadow2DArray | T::ShadowCube | T::CubeArray) {
            ops.extend(["TXL", "TXD", "TEX_LZ"]);
            if derivatives {
                ops.push("TXB");
            }
        }
        if derivatives
            && matches!(
                target,
                T::D1 | T::D2 | T::D3 | T::Rect | T::Shadow1D | T::Shadow2D | T::ShadowRect
            )
        {
            ops.push("TXP");
        }
        if derivatives && !is_shadow(target) {
            ops.push("LODQ");
        }
    }
    match target {
        T::ShadowCubeArray if derivatives => ops.push("TEX2"),
        T::CubeArray => ops.push("TXL2"),
        T::D2 | T::D2Array | T::Cube => ops.push("TG4"),
        _ => {}
    }
    ops.push("TXQ");
    ops
}

impl Gen<'_, '_> {
    pub(super) fn texture(&mut self) {
        let derivatives = self.uniform && self.stage == Stage::Frag;
        if derivatives && self.c.chance(20) {
            let op = self.c.name(&["DDX", "DDY", "DDX_FINE", "DDY_FINE"]);
            let src = self.operand(As::Float);
            let dst = self.destination(false);
            return self.line(format!("{op} {dst}, {src}"));
        }
        let at = self.c.below(self.samplers.len());
        let (target, _) = self.samplers[at];
        let ops = fetches(target, derivatives || self.stage != Stage::Frag);
        let op = self.c.of(&ops).unwrap_or("TXQ");
        let name = target_name(target);
        let int = matches!(op, "TXF" | "TXQ");
        let coord = if int {
            self.source(As::Int)
        } else {
            self.operand(As::Float)
        };
        // A coordinate is often put together just before.
        let coord = if !int && self.c.chance(40) {
            let t = self.c.below(self.temps);
            let mask = mask_text(self.mask());
            self.line(format!("MOV TEMP[{t}]{mask}, {coord}"));
            format!("TEMP[{t}]{}", self.swizzle())
        } else {
            coord
        };
        let middle = match op {
            "TXD" => format!(", {}, {}", self.source(As::Float), self.source(As::Float)),
            "TEX2" | "TXL2" => format!(", {}", self.source(As::Float)),
            "TG4" => {
                let component = self.c.below(4) as u32;
                format!(", {}", self.constant(component))
            }
            _ => String::new(),
        };
        let offset = if self.c.chance(15)
            && matches!(op, "TEX" | "TXL" | "TXF" | "TXB" | "TG4")
            && !name.contains("CUBE")
        {
            let c = self.constant(1);
            let reg = c.split('.').next().unwrap_or("IMM[0]").to_owned();
            format!(", {reg}.{}", self.c.name(&["xyz", "xxx", "yzx"]))
        } else {
            String::new()
        };
        let dst = self.destination(false);
        let sat = if self.c.chance(8) { "_SAT" } else { "" };
        self.line(format!(
            "{op}{sat} {dst}, {coord}{middle}, SAMP[{at}], {name}{offset}"
        ));
    }

    pub(super) fn kill(&mut self) {
        if self.stage != Stage::Frag {
            return self.float();
        }
        if self.c.chance(75) {
            let src = self.operand(As::Float);
            return self.line(format!("KILL_IF {src}"));
        }
        let a = self.scalar(As::Float, false);
        self.line(format!("IF {a}"));
        self.line("KILL");
        self.line("ENDIF");
    }
}
