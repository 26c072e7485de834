import type { ErrorRow } from "./ErrorRow.ts"
import { a2aRows } from "./rows/A2aRows.ts"
import { accountRows } from "./rows/AccountRows.ts"
import { administrationRows } from "./rows/AdministrationRows.ts"
import { agentDetailRows } from "./rows/AgentDetailRows.ts"
import { agentRows } from "./rows/AgentRows.ts"
import { aiRows } from "./rows/AiRows.ts"
import { channelRows } from "./rows/ChannelRows.ts"
import { billingRows } from "./rows/BillingRows.ts"
import { deploymentRows } from "./rows/DeploymentRows.ts"
import { deprecatedRows } from "./rows/DeprecatedRows.ts"
import { gatewayRows } from "./rows/GatewayRows.ts"
import { instanceRows } from "./rows/InstanceRows.ts"
import { interactionRows } from "./rows/InteractionRows.ts"
import { provisioningRows } from "./rows/ProvisioningRows.ts"
import { scheduleRows } from "./rows/ScheduleRows.ts"
import { socialIdentityRows } from "./rows/SocialIdentityRows.ts"
import { userWalletRows } from "./rows/UserWalletRows.ts"
import { verificationRows } from "./rows/VerificationRows.ts"
import { walletRows } from "./rows/WalletRows.ts"
import { webhookRows } from "./rows/WebhookRows.ts"

/** The specification's table of errors for the existing routes. */
export const errorRows: ReadonlyArray<ErrorRow> = [
  ...accountRows,
  ...a2aRows,
  ...walletRows,
  ...userWalletRows,
  ...socialIdentityRows,
  ...agentRows,
  ...agentDetailRows,
  ...verificationRows,
  ...channelRows,
  ...scheduleRows,
  ...instanceRows,
  ...deploymentRows,
  ...provisioningRows,
  ...interactionRows,
  ...gatewayRows,
  ...webhookRows,
  ...billingRows,
  ...administrationRows,
  ...deprecatedRows,
  ...aiRows
]
