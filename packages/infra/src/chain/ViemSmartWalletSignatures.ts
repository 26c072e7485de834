import {
  maximumSignatureBytes,
  type SignatureVerdict,
  type SignedMessage,
  SmartWalletSignatures
} from "@berth/domain/chain/SmartWalletSignatures"
import { normalizeWalletAddress } from "@berth/domain/chain/WalletAddress"
import { Effect, Layer } from "effect"
import {
  encodeDeployData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
  getAddress,
  hashMessage,
  type Hex,
  isHex,
  recoverMessageAddress,
  size
} from "viem"
import { call } from "viem/actions"
import { type ChainNode, isExecutionFailure } from "./ChainNode.ts"

/** What the validator may burn: deploying a wallet takes about half a million. A contract that loops ends here. */
const gasLimit = 10_000_000n
/** Bytes of a plain key's signature: r, s, v. */
const plainSignatureLength = 65

/** Well-formed, and not larger than a wallet's could be. */
const readSignature = (text: string): Hex | undefined =>
  isHex(text, { strict: true }) && text.length % 2 === 0 && text.length > 2 && size(text) <= maximumSignatureBytes
    ? text
    : undefined

const isSignedByKey = ({ address, message }: SignedMessage, signature: Hex) =>
  size(signature) === plainSignatureLength
    ? Effect.promise(() =>
        recoverMessageAddress({ message, signature }).then(
          (signer) => signer.toLowerCase() === normalizeWalletAddress(address),
          // No point on the curve: whatever this is, it is no key's signature.
          () => false
        )
      )
    : Effect.succeed(false)

/** What the validator says. Of anything else it is not known what it means, so that is no answer. */
const verdictOf = (answer: unknown): SignatureVerdict => {
  if (answer === "0x01") return "valid"
  if (answer === "0x00") return "invalid"
  throw new Error("neither yes nor no")
}

/**
 * A plain key's signature is recovered here. All else goes through the ERC-6492 validator, which is run in an eth_call and
 * deployed nowhere: it asks the wallet's contract, and deploys that first, inside the call, if the signature says how.
 */
export const layer = (node: ChainNode): Layer.Layer<SmartWalletSignatures> => {
  const askContract = ({ address, message }: SignedMessage, signature: Hex) => {
    const data = encodeDeployData({
      abi: erc6492SignatureValidatorAbi,
      bytecode: erc6492SignatureValidatorByteCode,
      args: [getAddress(normalizeWalletAddress(address)), hashMessage(message), signature]
    })
    return node.call(
      async (client): Promise<SignatureVerdict> => verdictOf((await call(client, { data, gas: gasLimit })).data),
      (error) => (isExecutionFailure(error) ? "invalid" : undefined)
    )
  }

  return Layer.succeed(SmartWalletSignatures, {
    verify: Effect.fn("SmartWalletSignatures.verify")(function* (signed: SignedMessage) {
      const signature = readSignature(signed.signature)
      if (signature === undefined) return "invalid"
      if (yield* isSignedByKey(signed, signature)) return "valid"
      return yield* askContract(signed, signature)
    })
  })
}
