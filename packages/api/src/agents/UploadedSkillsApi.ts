import { AgentId } from "@berth/domain/shared/AgentId"
import { SkillTool } from "@berth/domain/skills/SkillCode"
import { SkillInvalid, skillLimits, UploadedSkillLimitReached } from "@berth/domain/skills/uploads/SkillPackage"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema, Struct } from "effect"
import { AgentNotFoundBody, SkillNotFoundBody } from "./AgentErrorBodies.ts"
import { AgentOwner } from "./OwnedAgent.ts"
import { reasonErrorBody } from "../http/ErrorBody.ts"
import { namesFirstItem, payload } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"

const SkillInvalidBody = reasonErrorBody(SkillInvalid, {
  status: 400,
  error: "Skill invalid",
  example: "SKILL.md: `name` is required."
})
const UploadedSkillLimitReachedBody = reasonErrorBody(UploadedSkillLimitReached, {
  status: 429,
  error: "Skill limit reached",
  example: "An agent has at most 20 uploaded skills."
})

const UploadedSkillView = Schema.Struct({
  id: Schema.String.annotations({ description: "`name` of SKILL.md" }),
  name: Schema.String,
  description: Schema.String,
  tools: Schema.Array(SkillTool.pipe(Schema.pick("name", "description", "parameters"))),
  size: Schema.Int.annotations({ description: "Bytes of its files" }),
  createdAt: Timestamp,
  updatedAt: Timestamp
}).annotations({ identifier: "UploadedSkillView" })

const File = Schema.Struct({
  path: Schema.String.annotations({ description: "Relative to the skill's folder, for example scripts/count.mjs" }),
  content: Schema.String,
  encoding: Schema.optionalWith(Schema.Literal("utf8", "base64"), { default: () => "utf8" as const })
})

const path = Schema.Struct({ id: AgentId, skillId: Schema.String })
const agentPath = Schema.Struct(Struct.pick(path.fields, "id"))

const list = HttpApiEndpoint.get("list", "/api/agents/:id/skills")
  .setPath(agentPath)
  .addSuccess(
    Schema.Struct({ skills: Schema.Array(UploadedSkillView), count: Schema.Int, status: Schema.Literal("ok") })
  )
  .annotate(OpenApi.Summary, "List the uploaded skills of an agent")
  .annotate(OpenApi.Description, "Ordered by name. Excludes skills of the service.")

const upload = HttpApiEndpoint.post("upload", "/api/agents/:id/skills")
  .setPath(agentPath)
  .setPayload(
    payload({
      zip: Schema.optional(Schema.Uint8ArrayFromBase64).annotations({ description: "A zip archive, in base64" }),
      files: Schema.optional(Schema.Array(File).annotations(namesFirstItem)).annotations({
        description: "The files of the folder"
      })
    })
  )
  .addSuccess(Schema.Struct({ skill: UploadedSkillView }), { status: 201 })
  .addError(SkillInvalidBody)
  .addError(UploadedSkillLimitReachedBody)
  .addError(AgentNotFoundBody)
  .annotate(OpenApi.Summary, "Upload a skill")
  .annotate(
    OpenApi.Description,
    `A folder in the AgentSkills format with SKILL.md, as \`zip\` or \`files\`: at most ${skillLimits.files} files and ${skillLimits.bytes} bytes. \`tools.json\` in the folder declares tools: \`[{name, description, parameters, script}]\`, where \`parameters\` is a JSON Schema and \`script\` an ES module (.mjs or .js) whose default export takes the arguments and returns the result. Scripts run in the agent's instance only. Replaces and enables the uploaded skill of the same name.`
  )

const remove = HttpApiEndpoint.del("remove", "/api/agents/:id/skills/:skillId")
  .setPath(path)
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .addError(SkillNotFoundBody)
  .addError(AgentNotFoundBody)
  .annotate(OpenApi.Summary, "Delete an uploaded skill")
  .annotate(OpenApi.Description, "The agent can no longer use it.")

export class UploadedSkillsApi extends HttpApiGroup.make("uploadedSkills")
  .add(list)
  .add(upload)
  .add(remove)
  .middlewareEndpoints(AgentOwner)
  .annotateEndpointsContext(acceptApiKeys("agents"))
  .addError(InternalFailureBody) {}
