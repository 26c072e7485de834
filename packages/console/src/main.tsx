import { settings } from "./settings.ts"
import { MantineProvider } from "@mantine/core"
import { Notifications } from "@mantine/notifications"
import { QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { RouterProvider } from "@tanstack/react-router"
import { createRoot } from "react-dom/client"
import { RequestFailed } from "./api.ts"
import { router } from "./router.tsx"
import { resolveVariables, theme } from "./theme.ts"

const longestWaitMs = 8_000

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 3_000,
      retry: (attempts, cause) => cause instanceof RequestFailed && cause.isTemporary && attempts < 3,
      retryDelay: (attempt) => Math.min(longestWaitMs, 500 * 2 ** attempt)
    }
  }
})

const root = document.getElementById("root")
if (root !== null)
  createRoot(root).render(
    <MantineProvider
      theme={theme}
      cssVariablesResolver={resolveVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => settings.nonce}
    >
      <QueryClientProvider client={client}>
        <Notifications position="bottom-left" />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  )
