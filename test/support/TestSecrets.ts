import type { IdGenerator } from "@berth/domain/ids/IdGenerator"
import type { SecretBox } from "@berth/domain/secrets/SecretBox"
import type { Tokens } from "@berth/domain/secrets/Tokens"
import * as UuidGenerator from "@berth/infra/crypto/IdGenerator"
import * as EnvelopeSecretBox from "@berth/infra/crypto/SecretBox"
import * as RandomTokens from "@berth/infra/crypto/Tokens"
import { Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"

const secretBox = EnvelopeSecretBox.layer({ keys: [{ id: "test", key: Redacted.make(randomBytes(32)) }] })

/** The real ids, tokens and sealing, with a key of this process. */
export const layer: Layer.Layer<IdGenerator | SecretBox | Tokens> = Layer.mergeAll(
  UuidGenerator.layer,
  RandomTokens.layer,
  secretBox
)
