import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import type { Hex } from "viem"
import { createSiweMessage, type CreateSiweMessageParameters } from "viem/siwe"

/** A valid sign-in message in the format of wallet libraries, with `changes`. */
export const makeSignInMessage = (
  appUrl: URL,
  address: string,
  changes: Partial<CreateSiweMessageParameters> = {}
): string =>
  createSiweMessage({
    domain: appUrl.host,
    uri: appUrl.origin,
    address: `0x${address.slice(2)}`,
    version: "1",
    chainId: 8453,
    nonce: randomBytes(12).toString("hex"),
    issuedAt: new Date(),
    ...changes
  })

/** An address and its signer. */
export interface MessageSigner {
  readonly address: string
  readonly sign: (message: string) => Promise<Hex>
}

export interface SignInProof {
  readonly message: string
  readonly signature: string
}

/** A message and its signature, as in a request. */
export const signSignInMessage = (
  appUrl: URL,
  { address, sign }: MessageSigner,
  changes: Partial<CreateSiweMessageParameters> = {}
): Effect.Effect<SignInProof> => {
  const message = makeSignInMessage(appUrl, address, changes)
  return Effect.map(
    Effect.promise(() => sign(message)),
    (signature) => ({ message, signature })
  )
}
