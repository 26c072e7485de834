import { runProgram } from "@berth/infra/process/RunProgram"
import { program } from "./Program.ts"

runProgram({ serviceName: "berth-worker", program })
