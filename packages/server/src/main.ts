import { runProgram } from "@berth/infra/process/ProgramRunner"
import { serverProgram } from "./Program.ts"

runProgram({ serviceName: "berth-server", kind: "server", program: serverProgram })
