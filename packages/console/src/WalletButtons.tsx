import { Button, Group, Text } from "@mantine/core"
import { useEffect, useState } from "react"
import { RequestFailed } from "./api.ts"
import { findWallets, type FoundWallet, type Provider, WalletRejected } from "./pages/Wallet.ts"
import { useAction } from "./parts.tsx"
import { texts } from "./texts.ts"

export const WalletButtons = ({
  done,
  labelOf,
  onDone,
  work
}: {
  readonly labelOf: (wallet: string) => string
  readonly work: (provider: Provider) => Promise<unknown>
  readonly done: string
  readonly onDone: () => Promise<unknown>
}) => {
  const [found, setFound] = useState<ReadonlyArray<FoundWallet>>([])
  useEffect(() => {
    const wallets: Array<FoundWallet> = []
    return findWallets((wallet) => {
      wallets.push(wallet)
      setFound([...wallets])
    })
  }, [])
  const action = useAction(
    (provider: Provider) =>
      work(provider).catch((cause: unknown) => {
        throw cause instanceof WalletRejected ? new RequestFailed(cause.message, 400) : cause
      }),
    { done, onDone }
  )
  return (
    <Group gap="xs" mt="md">
      {found.length === 0 && (
        <Text fz="sm" c="dimmed">
          {texts.account.noWalletExtension}
        </Text>
      )}
      {found.map(({ name, provider }) => (
        <Button
          key={name}
          variant="default"
          loading={action.isPending && action.variables === provider}
          onClick={() => action.mutate(provider)}
        >
          {labelOf(name)}
        </Button>
      ))}
    </Group>
  )
}
