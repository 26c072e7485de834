import { runProgramCommand, runProgram } from "@berth/infra/process/ProgramRunner"
import { resealSecretsCommand, workerProgram } from "./Program.ts"

if (process.argv[2] === "reseal-secrets")
  runProgramCommand({ serviceName: "berth-reseal-secrets", kind: "worker", command: resealSecretsCommand })
else runProgram({ serviceName: "berth-worker", kind: "worker", program: workerProgram })
