// Entry of an instance: runs the program with the compile cache of its build.
import { compileProgram } from "./process/CompileCache.ts"

compileProgram({ usesCache: true }).run()
