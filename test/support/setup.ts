import "./exitWithRunner.ts"
import { it, makeMethods } from "@effect/vitest"

// Modules are shared by the files of a worker, and `layer` replaces methods of the one `it`: each file starts with the original ones.
makeMethods(it)
