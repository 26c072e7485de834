import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { walletNetwork } from "@berth/domain/wallets/WalletNetwork"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { EmailInvalidBody } from "../accounts/AccountErrorBodies.ts"
import { payload, SecretText } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { IdempotencyErrors } from "../limits/IdempotencyErrors.ts"
import { RateLimitExceededBody, WalletCreateLimit } from "../limits/RateLimits.ts"
import { AuthenticationRequiredBody, SessionAuth } from "../sessions/SessionAuth.ts"
import { ScopeMissingBody } from "../sessions/RequiredScope.ts"
import {
  DeveloperWalletFailedBody,
  DeveloperWalletsNotConfiguredBody,
  PrivateKeyInvalidBody,
  SeedExportDisabledBody,
  UserWalletExistsBody,
  UserWalletNotFoundBody
} from "./UserWalletErrorBodies.ts"

const network = Schema.Literal(walletNetwork.name)

export const walletFeatures = ["create_wallet", "get_balance", "send_usdc", "trade_tokens", "x402_payments"] as const

const AgenticWallet = Schema.Struct({
  agenticWallet: Schema.Struct({
    status: Schema.Literal("configured"),
    projectId: Schema.String.annotations({ description: "Truncated" }),
    features: Schema.Array(Schema.Literal(...walletFeatures))
  }),
  instructions: Schema.String
}).annotations({ identifier: "AgenticWallet" })

const UserWalletView = Schema.Struct({
  address: Schema.NullOr(WalletAddress),
  balance: Schema.String.annotations({ description: "Decimal ETH" }),
  network,
  hasWallet: Schema.Boolean,
  createdAt: Schema.optionalWith(Timestamp, { exact: true }),
  message: Schema.optionalWith(Schema.String, { exact: true }).annotations({ description: "Present without a wallet" })
}).annotations({ identifier: "UserWallet" })

const read = HttpApiEndpoint.get("read", "/api/wallet")
  .addSuccess(Schema.Union(AgenticWallet, UserWalletView))
  .addError(AuthenticationRequiredBody)
  .addError(ScopeMissingBody)
  .addError(RateLimitExceededBody)
  .annotate(OpenApi.Summary, "Retrieve the wallet of the caller or of the developer platform")
  .annotate(
    OpenApi.Description,
    "With a configured developer platform: its features, without authentication. Otherwise: the user wallet of the session. While the chain is unreachable, `balance` is the last known one and a `Warning` header is set."
  )

const CreatedWallet = Schema.Struct({ address: WalletAddress, network, message: Schema.String }).annotations({
  identifier: "CreatedUserWallet"
})
const WalletSeed = Schema.Struct({
  address: WalletAddress,
  network,
  createdAt: Timestamp,
  warning: Schema.String
}).annotations({ identifier: "UserWalletSeed" })

const act = HttpApiEndpoint.post("act", "/api/wallet")
  .setPayload(payload({ action: Schema.Literal("create", "get_seed", "export_seed") }))
  .addSuccess(Schema.Union(CreatedWallet, WalletSeed))
  .addError(UserWalletExistsBody)
  .addError(UserWalletNotFoundBody)
  .addError(SeedExportDisabledBody)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Create the user wallet, or describe its key")
  .annotate(
    OpenApi.Description,
    "`create` creates the only wallet of the account. `get_seed` describes the wallet: private keys are never exposed. `export_seed` always returns 403."
  )

const AddressView = Schema.Struct({
  authenticated: Schema.Boolean,
  address: Schema.optionalWith(WalletAddress, { exact: true }),
  needsAuth: Schema.optionalWith(Schema.Literal(true), { exact: true }),
  message: Schema.optionalWith(Schema.String, { exact: true }),
  error: Schema.optionalWith(Schema.String, { exact: true }),
  setup: Schema.optionalWith(Schema.String, { exact: true })
}).annotations({ identifier: "UserWalletAddress" })

const address = HttpApiEndpoint.get("address", "/api/wallet/address")
  .addSuccess(AddressView)
  .addError(AuthenticationRequiredBody)
  .addError(ScopeMissingBody)
  .annotate(OpenApi.Summary, "Retrieve the address of the user wallet")
  .annotate(
    OpenApi.Description,
    "Without a session or a wallet: `authenticated: false` with a message. If the service lacks the key of the wallet: with `error` and `setup`."
  )

const DeveloperWallet = Schema.Struct({
  success: Schema.Literal(true),
  walletAddress: WalletAddress,
  walletId: Schema.String,
  networks: Schema.Array(Schema.Literal("base-sepolia", "base"))
}).annotations({ identifier: "DeveloperWallet" })

const createDeveloperWallet = HttpApiEndpoint.post("createDeveloperWallet", "/api/wallet/create")
  .setPayload(payload({ email: Schema.String }))
  .addSuccess(DeveloperWallet)
  .addError(EmailInvalidBody)
  .addError(DeveloperWalletsNotConfiguredBody)
  .addError(DeveloperWalletFailedBody)
  .addError(IdempotencyErrors)
  .middleware(WalletCreateLimit)
  .annotate(OpenApi.Summary, "Create a wallet at the developer platform")
  .annotate(
    OpenApi.Description,
    "Requires no authentication. Every request creates a separate wallet; a repetition with the same `Idempotency-Key` returns the same wallet."
  )

const describeImport = HttpApiEndpoint.get("describeImport", "/api/wallet/cdp")
  .addSuccess(
    Schema.Struct({
      status: Schema.Literal("ok"),
      type: Schema.Literal("evm_wallet"),
      supportedChains: Schema.Array(Schema.Literal("base", "base-sepolia"))
    }).annotations({ identifier: "SupportedWallet" })
  )
  .annotate(OpenApi.Summary, "Describe the supported wallet imports")

const importKey = HttpApiEndpoint.post("importKey", "/api/wallet/cdp")
  .setPayload(payload({ privateKey: Schema.optionalWith(SecretText, { nullable: true }) }))
  .addSuccess(
    Schema.Struct({ success: Schema.Literal(true), address: WalletAddress, network }).annotations({
      identifier: "ImportedWallet"
    })
  )
  .addError(PrivateKeyInvalidBody)
  .addError(UserWalletExistsBody)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Store the key of a wallet")
  .annotate(
    OpenApi.Description,
    "The key is encrypted for the user and never returned; without `privateKey`, one is generated. Idempotent for the stored key; 400 for a different key, since the stored one may hold funds."
  )

export class UserWalletsApi extends HttpApiGroup.make("userWallets")
  .add(read)
  .add(act)
  .add(address)
  .add(createDeveloperWallet)
  .add(describeImport)
  .add(importKey)
  .addError(InternalFailureBody) {}
