//! Buffers, images, shared memory and hardware counters.

use crate::outcome::Word;

/// What a piece of memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RegionKind {
    /// `BUFFER[n]`
    Buffer,
    /// `IMAGE[n]`: texels of four words, x fastest, then y, then z.
    Image,
    /// `MEMORY[n]`
    Memory,
    /// `HWATOMIC[n]`: one word a counter.
    Counter,
    /// `RES[n]` of old text, a buffer.
    Resource,
}

/// The contents of one piece of memory, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region<W = Word> {
    /// Kind.
    pub kind: RegionKind,
    /// Number.
    pub index: i32,
    /// Words.
    pub words: Vec<W>,
}

/// Texels along x, y and z (or layers) of an image.
pub(crate) const IMAGE_SIZE: [u32; 3] = [8, 8, 6];

impl Region {
    /// Bytes.
    pub(crate) fn size(&self) -> u64 {
        4 * self.words.len() as u64
    }

    /// Whether `bytes` bytes from `offset` on lie inside.
    pub(crate) fn holds(&self, offset: u32, bytes: u32) -> bool {
        u64::from(offset) + u64::from(bytes) <= self.size()
    }

    /// The word at a byte offset, which need not be a multiple of four.
    pub(crate) fn load(&self, offset: u32) -> Option<Word> {
        if !self.holds(offset, 4) {
            return None;
        }
        let (at, shift) = ((offset / 4) as usize, 8 * (offset % 4));
        let low = *self.words.get(at)?;
        if shift == 0 {
            return Some(low);
        }
        let high = self.words.get(at + 1)?;
        let bits = low.bits >> shift | high.bits << (32 - shift);
        Some(Word {
            bits,
            ..Word::default()
        })
    }

    /// Stores a word at a byte offset; outside of the memory nothing happens.
    pub(crate) fn store(&mut self, offset: u32, word: Word) {
        if !self.holds(offset, 4) {
            return;
        }
        let (at, shift) = ((offset / 4) as usize, 8 * (offset % 4));
        if shift == 0 {
            self.words[at] = word;
            return;
        }
        let low = self.words[at].bits & !(u32::MAX << shift) | word.bits << shift;
        let high = self.words[at + 1].bits & (u32::MAX << shift) | word.bits >> (32 - shift);
        self.words[at] = Word {
            bits: low,
            ..Word::default()
        };
        self.words[at + 1] = Word {
            bits: high,
            ..Word::default()
        };
    }
}

/// The byte offset of a texel, `None` outside of the image.
pub(crate) fn texel_offset(coord: [u32; 3]) -> Option<u32> {
    let [x, y, z] = coord;
    let [w, h, d] = IMAGE_SIZE;
    (x < w && y < h && z < d).then(|| 16 * (x + w * (y + h * z)))
}

/// Number of channels of a format word (`PIPE_FORMAT_R32G32_FLOAT` has two); 4 if unknown.
pub(crate) fn format_channels(format: Option<&str>) -> usize {
    let Some(name) = format.map(|f| f.strip_prefix("PIPE_FORMAT_").unwrap_or(f)) else {
        return 4;
    };
    let body = name.split('_').next().unwrap_or(name);
    let bytes = body.as_bytes();
    let channels = bytes
        .iter()
        .zip(bytes.iter().skip(1))
        .filter(|(c, next)| matches!(c, b'R' | b'G' | b'B' | b'A') && next.is_ascii_digit())
        .count();
    if channels == 0 { 4 } else { channels.min(4) }
}
