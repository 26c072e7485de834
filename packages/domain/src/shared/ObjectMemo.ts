/** Computes the result of a function once per object, for the lifetime of the object. */
export const oncePerObject = <K extends object, A extends NonNullable<unknown>>(compute: (key: K) => A) => {
  const results = new WeakMap<K, A>()
  return (key: K): A => {
    const cached = results.get(key)
    if (cached !== undefined) return cached
    const result = compute(key)
    results.set(key, result)
    return result
  }
}
