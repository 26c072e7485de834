import { runProgram } from "@berth/infra/process/ProgramRunner"
import { workerProgram } from "./Program.ts"

runProgram({ serviceName: "berth-worker", program: workerProgram })
