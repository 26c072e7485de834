const families = (text: string) =>
  [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \1 (\S+)$/gm)].map(([, name = "", help = "", type = ""]) => ({
    name,
    help,
    type
  }))

const reserved = /_(?:total|count|sum|bucket|info)$/
const otherUnits = /_(?:milliseconds|millis|ms|minutes|hours|days|kilobytes|megabytes|kb|mb|percent)(?:_|$)/
const unit = /(?:_seconds|_bytes|_ratio|_usd)/

/** Faults of metrics in the Prometheus text format by its naming rules, as `promtool check metrics` finds them. */
export const lintMetrics = (text: string): ReadonlyArray<string> => {
  const declared = families(text)
  const names = declared.map(({ name }) => name)
  const sampled = new Set(
    [...text.matchAll(/^([a-zA-Z_:][\w:]*)[{ ]/gm)].map(([, name = ""]) =>
      names.includes(name) ? name : name.replace(/_(?:bucket|sum|count)$/, "")
    )
  )
  return [
    ...[...sampled].filter((name) => !names.includes(name)).map((name) => `${name} has no HELP and TYPE`),
    ...declared.flatMap(({ help, name, type }, index) => [
      ...(names.indexOf(name) === index ? [] : [`${name} is declared twice`]),
      ...(/^[a-z][a-z\d]*(?:_[a-z\d]+)+$/.test(name) ? [] : [`${name} is not in snake case`]),
      ...(type === "counter" && !name.endsWith("_total") ? [`${name} lacks the suffix of counters`] : []),
      ...(type !== "counter" && reserved.test(name) ? [`${name} has a suffix of another type`] : []),
      ...(otherUnits.test(name) ? [`${name} is not in base units`] : []),
      ...(type === "histogram" && !unit.test(name) && !name.startsWith("effect_") ? [`${name} has no unit`] : []),
      ...(help === name && !name.startsWith("effect_") ? [`${name} has no description`] : []),
      ...(help === "" ? [`${name} has an empty HELP`] : [])
    ])
  ]
}
