// SPDX-License-Identifier: MIT
#include "coordination/own_call.hpp"

#include <cerrno>
#include <new>
#include <utility>

#include "overtake/error.hpp"

namespace overtake::coordination {

OwnCall::OwnCall(std::shared_ptr<CoordinatedModel> model,
                 std::shared_ptr<CoordinatedModel::Away> away, std::size_t unit,
                 const UnitTable::Work& work, std::function<void(std::int32_t)> ended)
    : plan_(model->plan(home_domain)), away_(std::move(away)), unit_(unit), work_(work),
      model_(std::move(model)), ended_(std::move(ended)) {
    const UnitTable::Unit& described = plan_->unit_table()->units[unit_];
    const auto add = [&](std::vector<UnitTensor>& to, const std::vector<std::uint32_t>& numbers) {
        for (const std::uint32_t number : numbers)
            to.push_back({plan_->tensors()[number], bytes_of(away_->execution.places()[number])});
    };
    add(inputs_, described.reads);
    add(outputs_, described.writes);
}

std::int32_t OwnCall::compute() {
    try {
        return away_->compute(work_);
    } catch (const Error& error) {
        return error.code() > 0 ? -error.code() : -EIO;
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    }
}

void OwnCall::let_go() noexcept {
    std::shared_ptr<CoordinatedModel> model;
    const std::lock_guard lock(mutex_);
    model.swap(model_);
}

void OwnCall::done(std::int32_t status) noexcept {
    constexpr std::int32_t most_errno = 4095;
    std::function<void(std::int32_t)> ended;
    {
        const std::lock_guard lock(mutex_);
        ended.swap(ended_);
    }
    if (ended)
        ended(status <= 0 && status >= -most_errno ? status : -EIO);
}

} // namespace overtake::coordination
