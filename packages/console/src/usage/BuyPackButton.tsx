import type { ConsolePricing } from "@berth/api/pages/ConsoleSettings"
import { callBilling } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { notifyDone } from "../parts.tsx"
import { useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"

/** Buys a pack of credits with the saved card. */
export const BuyPackButton = ({
  pack: { credits, pack, price }
}: {
  readonly pack: ConsolePricing["packs"][number]
}) => {
  const refresh = useRefresh()
  const name = texts.usage.buy(pack)
  return (
    <ConfirmButton
      label={name}
      title={name}
      message={texts.usage.buyLead(credits, price)}
      isDestructive={false}
      onConfirm={async (key) => {
        await callBilling("POST", "/api/billing", {
          body: { action: "buy-credits", pack },
          headers: { "idempotency-key": key }
        })
        notifyDone(texts.usage.creditsBooked)
        await Promise.all([refresh("account"), refresh("billing")])
      }}
    />
  )
}
