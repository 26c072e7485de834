import { BotIdentity, ChannelState, ChannelTransport } from "@berth/domain/channels/ChannelConnection"
import { AgentId } from "@berth/domain/shared/AgentId"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema, Struct } from "effect"
import { AgentNotFoundBody, ConfigurationNotAppliedBody, PlanFeatureRequiredBody } from "../agents/AgentErrorBodies.ts"
import { AgentOwner } from "../agents/OwnedAgent.ts"
import { refusesUnknownMembers, SecretText } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { CredentialInvalidBody } from "../secrets/CredentialErrorBodies.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import { ChannelNotConnectedBody } from "./ChannelErrorBodies.ts"

const path = Schema.Struct({ id: AgentId })

const ChannelView = Schema.Struct({
  configured: Schema.Boolean.annotations({ description: "Whether the agent has a token for the platform" }),
  enabled: Schema.Boolean.annotations({
    description: "Configured, selected in the agent's configuration, and included in the plan"
  }),
  health: Schema.NullOr(
    Schema.Struct({ state: ChannelState, reason: Schema.NullOr(Schema.String), checkedAt: Schema.NullOr(Timestamp) })
  ),
  bot: Schema.NullOr(Schema.Struct(Struct.pick(BotIdentity.fields, "id", "name"))),
  transport: Schema.NullOr(ChannelTransport),
  webhookUrl: Schema.NullOr(Schema.String).annotations({
    description: "Address that the platform calls; null if Berth reads the messages"
  }),
  answersBots: Schema.Boolean
}).annotations({ identifier: "ChannelView" })

const ChannelViews = Schema.Struct({
  platformA: ChannelView,
  platformB: ChannelView,
  platformC: ChannelView
}).annotations({ identifier: "Channels" })

const exactly = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.optionalWith(schema, { exact: true })

const ChannelInput = Schema.Struct({
  token: exactly(SecretText),
  appSecret: exactly(SecretText),
  verifyToken: exactly(SecretText),
  enabled: exactly(Schema.Boolean),
  answersBots: exactly(Schema.Boolean)
}).annotations({ identifier: "ChannelInput", ...refusesUnknownMembers })
const PlatformBInput = Schema.Struct({
  ...ChannelInput.fields,
  phoneNumberId: exactly(Schema.NonEmptyString).annotations({
    description: "Number to use; default: the first number that the token can access"
  }),
  businessAccountId: exactly(Schema.NonEmptyString).annotations({
    description: "Account of the number; default: determined by the token"
  })
}).annotations({ identifier: "PlatformBInput", ...refusesUnknownMembers })
const change = exactly(Schema.NullOr(ChannelInput))

const read = HttpApiEndpoint.get("read", "/api/agents/:id/channels")
  .setPath(path)
  .addSuccess(Schema.Struct({ channels: ChannelViews, status: Schema.Literal("ok") }))
  .annotate(OpenApi.Summary, "List the channels of an agent")
  .annotate(
    OpenApi.Description,
    "Connections to the messaging platforms with their health. Secrets are never returned."
  )

const write = HttpApiEndpoint.put("change", "/api/agents/:id/channels")
  .setPath(path)
  .setPayload(
    Schema.Struct({
      platformA: change,
      platformB: exactly(Schema.NullOr(PlatformBInput)),
      platformC: change
    }).annotations({
      identifier: "ChannelsChange",
      ...refusesUnknownMembers
    })
  )
  .addSuccess(Schema.Struct({ channels: ChannelViews, status: Schema.Literal("updated") }))
  .addError(ChannelNotConnectedBody)
  .addError(CredentialInvalidBody)
  .addError(PlanFeatureRequiredBody)
  .addError(ConfigurationNotAppliedBody)
  .addError(AgentNotFoundBody)
  .annotate(OpenApi.Summary, "Connect an agent to messaging platforms")
  .annotate(
    OpenApi.Description,
    "Absent platforms and members remain unchanged; null removes a connection; unknown platforms and members are rejected. A new token enables the channel and is checked with the platform in the background: `health` shows the result. `enabled` without a token uses the owner's credential of the platform (`telegram`, `whatsapp`, `discord`)."
  )

export class ChannelsApi extends HttpApiGroup.make("channels")
  .add(read)
  .add(write)
  .middlewareEndpoints(AgentOwner)
  .annotateEndpointsContext(acceptApiKeys("agents"))
  .addError(InternalFailureBody) {}
