/** Markdown syntax and its replacement text; the ends of a truncated text can be missing. */
const marks: ReadonlyArray<readonly [RegExp, string]> = [
  [/^ {0,3}(?:`{3,}|~{3,}).*$/gm, ""],
  [/^[\s>]*(?:[-*_|:=+]\s*){3,}$/gm, ""],
  [/^[\s>]*(?:#{1,6}|[-*+]|\d{1,9}[.)])(?=\s)(?:\s+\[[ xX]\](?=\s))?/gm, ""],
  [/^\s*>+/gm, ""],
  [/!?\[([^\]]*)\](?:\((?:[^()]|\([^()]*\))*(?:\)|$)|\[[^\]]*\])/g, "$1"],
  [/<((?:https?|mailto):[^>\s]*)>/g, "$1"],
  [/(`+)([^`]+)\1/g, "$2"],
  [/(?<![\w\\])(\*\*|__|~~)(?=\S)(.*?\S)\1/g, "$2"],
  [/(?<![\w\\])([*_])(?=\S)(.*?\S)\1(?!\w)/g, "$2"],
  [/(?<=^|\s)(?:\*{1,3}|~~|`+)(?=\w)/g, ""],
  [/\s*\|\s*/g, " "],
  [/\\([!-/:-@[-`{-~])/g, "$1"]
]

/** Returns at most `longest` characters, the last one an ellipsis if the text is longer. */
export const shorten = (text: string, longest: number): string =>
  text.length > longest ? `${text.slice(0, longest - 1)}…` : text

/** Converts Markdown to one line of text, for excerpts. */
export const toPlainText = (markdown: string): string =>
  marks
    .reduce((text, [mark, left]) => text.replaceAll(mark, left), markdown)
    .replaceAll(/\s+/g, " ")
    .trim()
