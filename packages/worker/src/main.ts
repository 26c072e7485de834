import { runProgramCommand, runProgram } from "@berth/infra/process/ProgramRunner"
import { adminCommand, resealSecretsCommand, workerProgram } from "./Program.ts"

if (process.argv[2] === "reseal-secrets")
  runProgramCommand({ serviceName: "berth-reseal-secrets", kind: "worker", command: resealSecretsCommand })
else if (process.argv[2] === "admin")
  runProgramCommand({ serviceName: "berth-admin", kind: "worker", command: adminCommand(process.argv.slice(3)) })
else runProgram({ serviceName: "berth-worker", kind: "worker", program: workerProgram })
