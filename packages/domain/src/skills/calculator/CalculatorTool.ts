import { Either } from "effect"
import * as Tool from "../tools/Tool.ts"
import { toolParameters } from "../tools/ToolParameters.ts"
import { evaluateExpression, type ExpressionLimits } from "./Expression.ts"

export const makeCalculatorTool = (limits?: ExpressionLimits) =>
  Tool.make({
    name: "calculate",
    description: "Works out an arithmetic expression exactly.",
    parameters: toolParameters.calculate,
    run: ({ expression }) =>
      Either.mapLeft(evaluateExpression(expression, limits), ({ message }) => new Tool.ToolFailed({ reason: message }))
  })

export const calculatorTool = makeCalculatorTool()
