//! Textures: what an instruction asks, and a smooth made-up answer.

use tgsi::TexTarget;

/// How the level of detail of a sample is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lod {
    /// From the implicit derivatives (they are in [`TexQuery::ddx`], [`TexQuery::ddy`]), plus a bias.
    Implicit(f32),
    /// As given.
    Level(f32),
    /// From explicit derivatives.
    Gradient,
}

/// What is asked of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TexKind {
    /// A filtered sample.
    Sample,
    /// One component of the four texels around the coordinates.
    Gather(u32),
    /// A texel by integer coordinates; the level (or sample number) is in [`TexQuery::level`].
    Fetch,
    /// Size at a level: width, height, depth or layers, number of levels.
    Size,
    /// Number of samples.
    Samples,
    /// The level of detail that a sample would use, clamped and unclamped.
    Level,
    /// Position of sample number [`TexQuery::level`].
    SamplePosition,
}

/// One texture access of one lane. Fields that the access does not use are zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TexQuery {
    /// What is asked.
    pub kind: TexKind,
    /// Number of the sampler view.
    pub unit: u32,
    /// Number of the sampler state.
    pub sampler: u32,
    /// Target.
    pub target: TexTarget,
    /// Coordinates, layer included.
    pub coord: [f32; 4],
    /// Integer coordinates of a fetch.
    pub texel: [i32; 4],
    /// Shadow reference.
    pub reference: Option<f32>,
    /// Level of detail of a sample.
    pub lod: Lod,
    /// Level or sample number of a fetch or query.
    pub level: i32,
    /// Derivatives along x, implicit or explicit.
    pub ddx: [f32; 3],
    /// Derivatives along y.
    pub ddy: [f32; 3],
    /// Texel offsets; only a gather may have more than the first.
    pub offsets: [[i32; 3]; 4],
    /// The words wanted: `FLOAT`, `UINT`, `SINT` results.
    pub integer: IntegerResult,
}

/// The type of a texture's channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerResult {
    /// Floats.
    No,
    /// Unsigned integers.
    Unsigned,
    /// Signed integers.
    Signed,
}

/// A source of texture words.
pub trait Sampler {
    /// Four words for one lane's access.
    fn texture(&self, query: &TexQuery) -> [u32; 4];
}

/// A deterministic texture: the words depend smoothly, with a moderate slope, on
/// everything the access uses, and each channel differently. There is no NaN in
/// it and no infinity; a coordinate that is not finite counts as a far one.
#[derive(Clone, Copy, Debug, Default)]
pub struct SmoothSampler;

/// A coordinate brought into a finite range: near zero its slope is one, far out it saturates.
fn squash(x: f32) -> f64 {
    let x = f64::from(x);
    if x.is_nan() {
        return 0.375;
    }
    if x.abs() > 1e6 {
        return x.signum();
    }
    0.7 * x / (1.0 + x.abs()) + 0.3 * (0.9 * x).sin()
}

/// A sum of squashed terms, each with a weight that depends on channel and place.
struct Mixer {
    phase: [f64; 4],
}

impl Mixer {
    fn new(q: &TexQuery) -> Self {
        let salt = f64::from(q.unit) * 0.61
            + f64::from(q.sampler) * 0.23
            + f64::from(q.target as u8) * 0.37;
        Mixer {
            phase: [0.1, 0.9, 1.7, 2.6].map(|p| p + salt),
        }
    }

    fn add(&mut self, place: u32, weight: f64, x: f64) {
        for (c, phase) in self.phase.iter_mut().enumerate() {
            let own = 1.0 + 0.5 * (f64::from(place) * 1.3 + c as f64 * 2.1).sin();
            *phase += weight * own * x;
        }
    }

    fn words(&self) -> [f64; 4] {
        self.phase.map(|p| 0.5 + 0.5 * p.sin())
    }
}

fn sample(q: &TexQuery) -> [f64; 4] {
    let mut m = Mixer::new(q);
    for (i, x) in q.coord.iter().enumerate() {
        m.add(i as u32, 1.0, squash(*x));
    }
    if let Some(r) = q.reference {
        m.add(5, 0.8, squash(r) + 0.2);
    }
    match q.lod {
        Lod::Implicit(bias) => {
            m.add(6, 0.3, squash(bias));
            add_derivatives(&mut m, q, 0.02);
        }
        Lod::Level(level) => m.add(7, 0.4, squash(level) + 0.3),
        Lod::Gradient => add_derivatives(&mut m, q, 0.3),
    }
    for (i, o) in q.offsets.iter().enumerate() {
        for (j, x) in o.iter().enumerate() {
            m.add(20 + 3 * i as u32 + j as u32, 0.3, squash(*x as f32));
        }
    }
    if let TexKind::Gather(component) = q.kind {
        m.add(40, 0.5, f64::from(component & 3) + 0.5);
    }
    m.words()
}

fn add_derivatives(m: &mut Mixer, q: &TexQuery, weight: f64) {
    for i in 0..3 {
        m.add(10 + i as u32, weight, squash(q.ddx[i]));
        m.add(13 + i as u32, weight, squash(q.ddy[i]));
    }
}

fn fetch(q: &TexQuery) -> [f64; 4] {
    let mut m = Mixer::new(q);
    let [x, y, z] = q.offsets[0];
    let offset = [x, y, z, 0];
    for (i, (x, o)) in q.texel.iter().zip(offset).enumerate() {
        m.add(50 + i as u32, 1.0, squash(x.wrapping_add(o) as f32));
    }
    m.add(55, 0.7, squash(q.level as f32));
    m.words()
}

fn size(q: &TexQuery) -> [u32; 4] {
    let level = q.level.clamp(0, 6) as u32;
    let at = |n: u32| (n >> level).max(1);
    [
        at(64 + 8 * (q.unit % 8)),
        at(32 + 8 * (q.unit % 5)),
        at(16),
        7,
    ]
}

impl Sampler for SmoothSampler {
    fn texture(&self, q: &TexQuery) -> [u32; 4] {
        let words = match q.kind {
            TexKind::Size => return size(q),
            TexKind::Samples => return [4, 0, 0, 0],
            TexKind::SamplePosition => {
                let at = |k: i32| (k.rem_euclid(16) as f32 / 16.0).to_bits();
                return [
                    at(q.level.wrapping_mul(5)),
                    at(q.level.wrapping_mul(11)),
                    0,
                    0,
                ];
            }
            TexKind::Level => {
                let mut m = Mixer::new(q);
                add_derivatives(&mut m, q, 0.3);
                q.coord
                    .iter()
                    .enumerate()
                    .for_each(|(i, x)| m.add(i as u32, 0.05, squash(*x)));
                let w = m.words();
                [4.0 * w[0], 4.0 * w[1] - 2.0, 0.0, 0.0]
            }
            TexKind::Fetch => fetch(q),
            TexKind::Sample | TexKind::Gather(_) => sample(q),
        };
        match q.integer {
            IntegerResult::No => words.map(|x| (x as f32).to_bits()),
            IntegerResult::Unsigned => words.map(|x| (x * 255.0) as u32),
            IntegerResult::Signed => words.map(|x| (x * 255.0 - 128.0) as i32 as u32),
        }
    }
}
