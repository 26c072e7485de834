import type { IdGenerator } from "@berth/domain/ids/IdGenerator"
import type { SecretBox } from "@berth/domain/secrets/SecretBox"
import type { Digests } from "@berth/domain/secrets/Digests"
import type { Tokens } from "@berth/domain/secrets/Tokens"
import * as UuidIdGenerator from "@berth/infra/crypto/UuidIdGenerator"
import * as AesGcmSecretBox from "@berth/infra/crypto/AesGcmSecretBox"
import * as NodeDigests from "@berth/infra/crypto/NodeDigests"
import * as NodeTokens from "@berth/infra/crypto/NodeTokens"
import { Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"

const secretBox = AesGcmSecretBox.layer({ keys: [{ id: "test", key: Redacted.make(randomBytes(32)) }] })

/** The live ids, tokens and sealing, with a key of this process. */
export const layer: Layer.Layer<IdGenerator | SecretBox | Digests | Tokens> = Layer.mergeAll(
  UuidIdGenerator.layer,
  NodeTokens.layer,
  NodeDigests.layer,
  secretBox
)
