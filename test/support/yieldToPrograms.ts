import { setPriority } from "node:os"

// The programs of `test/e2e` run at the same time and keep the time limits of production.
setPriority(5)
