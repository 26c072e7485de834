import { Either, Schema } from "effect"
import * as Tool from "../tools/Tool.ts"
import { evaluateExpression, type ExpressionLimits } from "./Expression.ts"

export const makeCalculatorTool = (limits?: ExpressionLimits) =>
  Tool.make({
    name: "calculate",
    description: "Works out an arithmetic expression exactly.",
    parameters: Schema.Struct({
      expression: Schema.String.annotations({
        description:
          "For example (19.99 * 3) * 1.2, or round(sqrt(2), 4). Operators + - * / % ^, where % is the remainder."
      })
    }),
    run: ({ expression }) =>
      Either.mapLeft(evaluateExpression(expression, limits), ({ message }) => new Tool.ToolFailed({ reason: message }))
  })

export const calculatorTool = makeCalculatorTool()
