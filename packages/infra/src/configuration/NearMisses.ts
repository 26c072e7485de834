/** Names shared with other programs; only a clear misspelling of a long word is reported. */
const sharedNames =
  /^(HOST|PORT|APP_URL|DATABASE_URL|REDIS_URL|SMTP_URL|MAIL_FROM|LOG_LEVEL|LOG_FORMAT|DATA_DIR|BACKEND_.*|KUBE.*|DOCKER_.*|(OPENROUTER|OPENAI|ANTHROPIC|GOOGLE|GROQ|STRIPE|TURNSTILE|MUX)_.*)$/

/** Variables of shells, package managers, platforms and standards. */
const wellKnownNames =
  /^(_|NODE_|NPM_|PNPM_|YARN_|CI_|GITHUB_|GITLAB_|RUNNER_|KUBERNETES_|DOCKER_|CONTAINER_|AWS_|AZURE_|GCP_|OTEL_|XDG_|LC_|SSH_|GIT_|PG|OPENAPI_|VITE)/i

/**
 * Returns the optimal string alignment distance: insertions, deletions, substitutions and transpositions of neighbors.
 */
export const editDistance = (a: string, b: string): number => {
  const rows: Array<ReadonlyArray<number>> = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= a.length; row += 1) {
    const next = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const at = (up: number, left: number) => (up === 0 ? next : rows[row - up])?.[column - left] ?? Infinity
      const isSame = a[row - 1] === b[column - 1]
      const isSwap = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      next.push(
        Math.min(at(1, 0) + 1, at(0, 1) + 1, at(1, 1) + (isSame ? 0 : 1), row > 1 && isSwap ? at(2, 2) + 1 : Infinity)
      )
    }
    rows.push(next)
  }
  return rows[a.length]?.[b.length] ?? Infinity
}

const longWord = 5

type Words = ReadonlyArray<string>

/** Exactly one word is misspelled: by at most two edits in a long word of Berth's own names, else by one. */
const isMisspelling = (words: Words, known: string, knownWords: Words): boolean => {
  if (words.length !== knownWords.length || words.length < 2) return false
  const different = knownWords.flatMap((word, index) => (word === words[index] ? [] : [index]))
  const [index = 0, ...others] = different
  if (different.length === 0 || others.length > 0) return false
  const [word = "", knownWord = ""] = [words[index], knownWords[index]]
  const isShared = sharedNames.test(known)
  if (knownWord.length < longWord && (isShared || index === 0)) return false
  return editDistance(word, knownWord) <= (isShared || knownWord.length < longWord ? 1 : 2)
}

interface NearMiss {
  readonly name: string
  readonly meant: string
}

/** Finds variables whose names are misspellings of unset settings. */
export const findNearMisses = (
  environment: Readonly<Record<string, string | undefined>>,
  settingNames: ReadonlySet<string>
): ReadonlyArray<NearMiss> => {
  const unset = [...settingNames]
    .filter((name) => (environment[name] ?? "").trim() === "")
    .map((name) => ({ name, words: name.split("_") }))
  return Object.keys(environment)
    .filter((name) => !settingNames.has(name) && !wellKnownNames.test(name))
    .flatMap((name) => {
      const words = name.split("_")
      const meant = unset.find((known) => isMisspelling(words, known.name, known.words))
      return meant === undefined ? [] : [{ name, meant: meant.name }]
    })
}

export const describeNearMiss = ({ meant, name }: NearMiss) => `${name} is not a setting. Did you mean ${meant}?`
