import { Effect, FiberId, Scheduler } from "effect"
import { type HeapProfiler, Session } from "node:inspector/promises"
import { performance } from "node:perf_hooks"
import { Client } from "pg"

/** Work, measured independently of the machine. */
interface Work {
  /** Steps of Effect's interpreter in fibers that the work starts. */
  readonly operations: number
  readonly statements: ReadonlyArray<string>
  /** Generator functions that run for the first time; V8 makes a hidden class for each. */
  readonly generators: number
}

const prototypeOf: (value: object) => object = Object.getPrototypeOf
const generator = (function* () {})()
const generatorPrototype = prototypeOf(prototypeOf(generator))

const textOf = (query: unknown): string => {
  if (typeof query === "string") return query
  return typeof query === "object" && query !== null && "text" in query ? String(query.text) : ""
}

/** Counts the work of the process until the scope closes. Databases connected earlier are not counted. */
export const countWork = Effect.gen(function* () {
  let operations = 0
  let newest = 0
  let statements: Array<string> = []
  let generators = 0
  /** Prototypes of generators, one for each function. */
  const known = new WeakSet<object>()
  const plainNext: (...args: Array<never>) => unknown = generator.next
  const scheduler = Scheduler.defaultScheduler
  const { shouldYield } = scheduler
  const plainQuery: (...args: Array<never>) => unknown = Client.prototype.query
  const { eventLoopUtilization } = performance
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      scheduler.shouldYield = (fiber) => {
        // Older fibers are background work, for example batched writes.
        if (fiber.id().id > newest) operations += 1
        return shouldYield.call(scheduler, fiber)
      }
      Object.defineProperty(generatorPrototype, "next", {
        configurable: true,
        writable: true,
        value(this: object, ...args: ReadonlyArray<unknown>): unknown {
          const prototype = prototypeOf(this)
          if (!known.has(prototype)) {
            known.add(prototype)
            generators += 1
          }
          return Reflect.apply(plainNext, this, args)
        }
      })
      // A busy process delays writes, which takes operations.
      performance.eventLoopUtilization = () => ({ idle: 0, active: 0, utilization: 0 })
      Object.defineProperty(Client.prototype, "query", {
        configurable: true,
        writable: true,
        value(this: Client, ...args: ReadonlyArray<unknown>): unknown {
          statements.push(textOf(args[0]))
          return Reflect.apply(plainQuery, this, args)
        }
      })
    }),
    () =>
      Effect.sync(() => {
        scheduler.shouldYield = shouldYield
        Object.defineProperty(generatorPrototype, "next", { configurable: true, writable: true, value: plainNext })
        performance.eventLoopUtilization = eventLoopUtilization
        Object.defineProperty(Client.prototype, "query", { configurable: true, writable: true, value: plainQuery })
      })
  )
  const once = async (send: () => Promise<unknown>): Promise<Work> => {
    operations = 0
    newest = FiberId.unsafeMake().id
    statements = []
    generators = 0
    await send()
    return { operations, statements, generators }
  }
  return {
    /** The minima over several runs: background work can only add to them. */
    leastOf: (times: number, send: () => Promise<unknown>) =>
      Effect.promise(async () => {
        const all: Array<Work> = []
        for (let time = 0; time < times; time += 1) all.push(await once(send))
        return all
      }).pipe(
        Effect.map((all): Work => ({
          operations: Math.min(...all.map((work) => work.operations)),
          generators: Math.min(...all.map((work) => work.generators)),
          statements: all.map((work) => work.statements).toSorted((a, b) => a.length - b.length)[0] ?? []
        }))
      )
  }
})

const sumSizes = ({ children, selfSize }: HeapProfiler.SamplingHeapProfileNode): number =>
  children.reduce((sum, child) => sum + sumSizes(child), selfSize)

/** The bytes that the process allocates during `send`, garbage included; estimated from samples. */
export const measureAllocation = (send: () => Promise<unknown>) =>
  Effect.promise(async () => {
    const session = new Session()
    session.connect()
    await session.post("HeapProfiler.startSampling", {
      samplingInterval: 4096,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true
    })
    await send()
    const { profile } = await session.post("HeapProfiler.stopSampling")
    session.disconnect()
    return sumSizes(profile.head)
  })
