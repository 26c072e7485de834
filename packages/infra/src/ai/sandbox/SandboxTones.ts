/** Hertz. */
export const toneSampleRate = 8_000

const syllableSeconds = 0.12
const gapSeconds = 0.02
const pauseSeconds = 0.1
const loudness = 8_000

/** Hertz: a pentatonic scale. */
const scale = [220, 247, 277, 330, 370, 440, 494, 554]

const syllablesOf = (word: string): ReadonlyArray<string> =>
  // Words without vowels, or in other scripts, have a syllable per three letters.
  word.match(/[^aeiouy]*[aeiouy]+(?:[^aeiouy]+$)?/gi) ?? word.match(/.{1,3}/gsu) ?? []

const pitchOf = (syllable: string): number => {
  let sum = 0
  for (const letter of syllable.toLowerCase()) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 65_521
  return scale[sum % scale.length] ?? 220
}

/** Fades in and out to avoid clicks. */
const toneOf = (pitch: number, length: number): Int16Array =>
  Int16Array.from({ length }, (_, at) =>
    Math.round(
      loudness *
        Math.sin((2 * Math.PI * pitch * at) / toneSampleRate) *
        Math.min(1, at / 80, Math.max(0, length - at) / 80)
    )
  )

/** Deterministic: one tone per syllable, and a pause after each word. */
export const synthesizeTones = (text: string, speed: number): Int16Array => {
  const samplesIn = (seconds: number) => Math.max(1, Math.round((seconds * toneSampleRate) / speed))
  const [syllable, gap, pause] = [samplesIn(syllableSeconds), samplesIn(gapSeconds), samplesIn(pauseSeconds)]
  const words = (text.match(/\S+/gu) ?? []).map(syllablesOf)
  const tones = new Map(scale.map((pitch) => [pitch, toneOf(pitch, syllable)] as const))
  const length = words.reduce((sum, syllables) => sum + syllables.length * (syllable + gap) + pause, 0)
  const samples = new Int16Array(length)
  let at = 0
  for (const syllables of words) {
    for (const syllableText of syllables) {
      const tone = tones.get(pitchOf(syllableText))
      if (tone !== undefined) samples.set(tone, at)
      at += syllable + gap
    }
    at += pause
  }
  return samples
}
