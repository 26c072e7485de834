import type { Vitest } from "@effect/vitest"
import { Context, Layer } from "effect"
import { type Berth, startBerth } from "./BerthProcess.ts"

/** Berth as a user first starts it: `npm start` on an empty directory with the embedded database. */
export class FirstStart extends Context.Tag("@berth/test/FirstStart")<FirstStart, Berth>() {}

/** Adds tests that share the first start. */
export type FirstStartPart = (it: Vitest.MethodsNonLive<FirstStart, true>) => void

export const layer = Layer.scoped(
  FirstStart,
  // The discard port: tests do not read the public model list.
  startBerth({
    launcher: "npm",
    environment: { OPENROUTER_BASE_URL: "http://127.0.0.1:9/api/v1" }
  })
)
