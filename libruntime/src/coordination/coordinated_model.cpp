// SPDX-License-Identifier: MIT
#include "coordination/coordinated_model.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <cxxabi.h>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernel/kernel_sharing.hpp"
#include "network/host_regions.hpp"
#include "overtake/error.hpp"

namespace overtake::coordination {

namespace {

constexpr std::size_t no_class = ~std::size_t{0};

std::vector<std::shared_ptr<const Plan>> plan_units(const std::shared_ptr<const Model>& model,
                                                    const Domains& domains, const CpuOptions& cpu) {
    std::vector<std::shared_ptr<const Plan>> plans;
    for (const Domain& domain : domains)
        plans.push_back(plan_once(domain.device, model, PlanParts::units, cpu));
    return plans;
}

std::uint64_t longest_fc_ns(const Segment& segment) {
    std::uint64_t most = 0;
    std::uint64_t all = 0;
    for (const std::uint64_t cycles : segment.fc_cycles) {
        most = std::max(most, cycles);
        all += cycles;
    }
    if (all == 0)
        return segment.expected_ns;
    // The longest FC's share of the segment's time, which needs no clock.
    const auto share = static_cast<double>(most) / static_cast<double>(all);
    return static_cast<std::uint64_t>(share * static_cast<double>(segment.expected_ns));
}

} // namespace

// CoordinatedModel

CoordinatedModel::CoordinatedModel(const std::shared_ptr<const Model>& model,
                                   const Domains& domains, std::span<const ProcessorClass> classes,
                                   const CpuOptions& cpu)
    : domains_(domains), plans_(plan_units(model, domains, cpu)),
      classes_(classes.begin(), classes.end()),
      inferences_(std::make_shared<engine::InferencePool>(plans_[home_domain])),
      pictures_(plans_[home_domain]), idle_(domains.size()) {
    for (const ProcessorClass& each : classes_)
        class_of_.push_back(class_for(table(), each));
    try {
        describe();
    } catch (...) { // the destructor will not run
        release_own();
        throw;
    }
}

CoordinatedModel::~CoordinatedModel() {
    release_own();
}

/// Releases the units that the program's processors have prepared.
void CoordinatedModel::release_own() noexcept {
    for (std::size_t u = 0; u < units_.size(); u++)
        for (std::size_t c = 0; c < classes_.size(); c++)
            if (classes_[c].own && times_[u * classes_.size() + c] != 0) {
                try {
                    classes_[c].own->release(description(u));
                } catch (...) { // the program's exception
                }
            }
}

/// Chooses the class of this name, else the first of this profile, else the first of this kind.
std::size_t CoordinatedModel::class_for(const UnitTable& table, const ProcessorClass& wanted) {
    const bool are_cores = !wanted.profile_name.empty();
    for (std::size_t c = 0; c < table.classes.size(); c++)
        if (table.classes[c].name == wanted.name && table.classes[c].is_cores() == are_cores)
            return c;
    for (std::size_t c = 0; c < table.classes.size(); c++)
        if (table.classes[c].profile_name == wanted.profile_name)
            return c;
    for (std::size_t c = 0; c < table.classes.size(); c++)
        if (table.classes[c].is_cores() == are_cores)
            return c;
    return no_class;
}

void CoordinatedModel::describe() {
    const std::size_t count = table().units.size();
    units_.resize(count);
    times_.resize(count * classes_.size());
    longest_.resize(count * classes_.size());
    works_.resize(count * classes_.size());
    own_refusals_.resize(count * classes_.size());
    records_.resize(classes_.size() * ovt_coord_record_count(static_cast<u32>(count)));
    for (std::size_t u = 0; u < count; u++) {
        const UnitTable::Unit& unit = table().units[u];
        units_[u] = {unit.after, unit.output_bytes, unit.operations};
        for (std::size_t c = 0; c < classes_.size(); c++)
            if (classes_[c].own)
                describe_own(u, c);
            else if (class_of_[c] != no_class && unit.work[class_of_[c]].is_supported())
                set_work(u, c, unit.work[class_of_[c]], unit.work[class_of_[c]].expected_ns);
    }
    described_.units = units_.data();
    described_.unit_count = static_cast<u32>(count);
    described_.input_bytes = table().input_bytes;
    described_.times = times_.data();
    described_.longest = longest_.data();
    described_.records = records_.data();
}

void CoordinatedModel::set_work(std::size_t unit, std::size_t engine_class,
                                const UnitTable::Work& work, std::uint64_t expected_ns) {
    const std::size_t index = unit * classes_.size() + engine_class;
    times_[index] = expected_ns;
    longest_[index] = longest_fc_ns(*table().segments[work.segment]);
    works_[index] = &work;
}

/// Returns the work of CPU workers, or else that of cores: this process can compute both.
const UnitTable::Work& CoordinatedModel::computed_work(std::size_t unit) const {
    const std::vector<UnitTable::Work>& work = table().units[unit].work;
    for (std::size_t c = 0; c < work.size(); c++)
        if (!table().classes[c].is_cores() && work[c].is_supported())
            return work[c];
    return *std::ranges::find_if(work, &UnitTable::Work::is_supported);
}

UnitDescription CoordinatedModel::description(std::size_t unit) const {
    const UnitTable::Work& work = computed_work(unit);
    const bool is_of_cpu = std::ranges::any_of(table().classes, [&](const UnitTable::Class& each) {
        const auto c = static_cast<std::size_t>(&each - table().classes.data());
        return !each.is_cores() && &table().units[unit].work[c] == &work;
    });
    return {model(), unit, table().units[unit].operations, is_of_cpu ? work.expected_ns : 0};
}

void CoordinatedModel::describe_own(std::size_t unit, std::size_t engine_class) {
    const UnitDescription described = description(unit);
    std::uint64_t expected_ns = described.expected_ns;
    std::string& refusal = own_refusals_[unit * classes_.size() + engine_class];
    std::int32_t status = 0;
    try {
        status = classes_[engine_class].own->prepare(described, expected_ns);
    } catch (const std::exception& exception) { // the program's exception
        refusal = std::string("prepare() threw: ") + exception.what();
        return;
    } catch (const abi::__forced_unwind&) { // the thread is cancelled
        throw;
    } catch (...) {
        refusal = "prepare() threw what is no std::exception";
        return;
    }
    if (status == 0)
        set_work(unit, engine_class, computed_work(unit),
                 std::clamp<std::uint64_t>(expected_ns, 1, std::uint64_t{1} << 40));
    else
        refusal = fmt::format("prepare() returned {} ({})", status,
                              status < 0 ? std::generic_category().message(-status)
                                         : std::string("no errno"));
}

std::string CoordinatedModel::refusal(std::size_t unit, std::size_t engine_class) const {
    const std::string& own = own_refusals_[unit * classes_.size() + engine_class];
    if (!own.empty())
        return own;
    if (class_of_[engine_class] == no_class)
        return fmt::format("the model was compiled for no class of {}",
                           classes_[engine_class].profile_name.empty() ? "workers" : "cores");
    return fmt::format("the model's class '{}' does not have the unit",
                       table().classes[class_of_[engine_class]].name);
}

std::string CoordinatedModel::classes_with(std::size_t unit) const {
    std::vector<std::string> names;
    for (std::size_t c = 0; c < table().classes.size(); c++)
        if (table().units[unit].work[c].is_supported())
            names.push_back(table().classes[c].name);
    return fmt::format("{}", fmt::join(names, " or "));
}

std::shared_ptr<UnitInference>
CoordinatedModel::make_inference(std::span<const TensorMemory> inputs,
                                 std::span<const TensorMemory> outputs) {
    const std::shared_ptr<engine::Inference> home = inferences_->take();
    home->lend(inputs, outputs);
    home->use(inferences_->take_memory(home->lent()), pictures_);
    if (home->has_pictures() && domain_count() > 1)
        throw Error(ENOTSUP, fmt::format("{}: an input that is a part of a picture, or whose rows "
                                         "have a stride of their own, needs processors of one "
                                         "device; copy it",
                                         model().name()));
    return std::make_shared<UnitInference>(shared_from_this(), home);
}

CoordinatedModel::Away::Away(const std::shared_ptr<const Plan>& plan, std::vector<bool> shared_)
    : shared(std::move(shared_)), workspace(*plan, shared), execution(plan) {
    if (shared.empty())
        use({});
}

std::int32_t CoordinatedModel::Away::compute(const UnitTable::Work& work) {
    for (std::size_t i = 0; i < work.count; i++)
        if (const std::int32_t status = compute_segment(work.segment + i); status != 0)
            return status;
    return 0;
}

std::int32_t CoordinatedModel::Away::compute_segment(std::size_t segment) {
    const Plan& plan = execution.plan();
    if (!plan.segments()[segment].on_bpu()) {
        if (!cpu)
            cpu = std::make_unique<CpuSegments>(execution.shared_plan());
        cpu->compute(segment, execution.places());
        return 0;
    }
    if (!core)
        core = std::make_unique<HostCore>();
    Job job;
    execution.describe(segment, job);
    return core->execute(job.fcs, host_regions(plan, segment, job.bindings, execution.places()),
                         job.scratch_bytes);
}

/// Returns the tensors of the domain's source that the domain works on in place.  A tensor that its
/// device cannot reach, for want of room, say, is copied.
std::vector<LentTensor> CoordinatedModel::reach(unsigned domain,
                                                std::span<const TensorPlace> of_source) const {
    std::vector<LentTensor> reached;
    for (std::uint32_t number = 0; number < of_source.size(); number++) {
        TensorPlace place = of_source[number];
        if (tensors()[number].is_constant())
            continue;
        if (!place.device.empty()) {
            Device& device = *domains_[domain].device;
            Device& owner = *domains_[*domains_[domain].source].device;
            try {
                place.address = address_on(device, owner, place.address, place.device.size());
            } catch (const Error&) {
                continue;
            }
        }
        reached.push_back({number, place});
    }
    return reached;
}

std::shared_ptr<CoordinatedModel::Away>
CoordinatedModel::take_away(unsigned domain, std::span<const TensorPlace> of_source) {
    const std::vector<LentTensor> reached = reach(domain, of_source);
    std::vector<bool> shared(reached.empty() ? 0 : tensors().size());
    for (const LentTensor& tensor : reached)
        shared[tensor.tensor] = true;
    std::shared_ptr<Away> away;
    {
        const std::lock_guard lock(mutex_);
        std::vector<std::shared_ptr<Away>>& idle = idle_[domain];
        const auto alike = std::ranges::find(
            idle, shared, [](const auto& each) -> const auto& { return each->shared; });
        if (alike != idle.end()) {
            away = std::move(*alike);
            *alike = std::move(idle.back());
            idle.pop_back();
        }
    }
    if (!away)
        away = std::make_shared<Away>(plans_[domain], std::move(shared));
    if (!reached.empty())
        away->use(reached);
    return away;
}

void CoordinatedModel::give_back(unsigned domain, std::shared_ptr<Away> away) noexcept {
    if (away.use_count() != 1)
        return; // a call of the program's processor has not ended
    const std::lock_guard lock(mutex_);
    try {
        idle_[domain].push_back(std::move(away));
    } catch (const std::bad_alloc&) { // the next inference makes a new one
    }
}

// UnitInference

UnitInference::UnitInference(std::shared_ptr<CoordinatedModel> model,
                             std::shared_ptr<engine::Inference> home)
    : model_(std::move(model)), home_(std::move(home)), away_(model_->domain_count()),
      away_refusals_(model_->domain_count()),
      present_(model_->tensors().size(), 1u << home_domain) {
    for (unsigned domain = home_domain + 1; domain < away_.size(); domain++) {
        const std::optional<unsigned> source = model_->domains()[domain].source;
        std::span<const TensorPlace> of_source;
        if (source == home_domain)
            of_source = home_->places();
        else if (source && away_[*source])
            of_source = away_[*source]->execution.places();
        try {
            away_[domain] = model_->take_away(domain, of_source);
            domains_ |= std::uint64_t{1} << domain;
            share(domain, source.value_or(domain));
        } catch (const Error& error) { // the device has gone, say: other processors run it
            away_refusals_[domain] = error.what();
        }
    }
    for (std::uint32_t tensor = 0; tensor < present_.size() && away_.size() > 1; tensor++)
        present_[tensor] = domains_with(tensor, home_domain);
}

/// Records the domain in whose memory each tensor of a new domain is.
void UnitInference::share(unsigned domain, unsigned source) {
    if (memory_of_.empty())
        memory_of_.resize(present_.size() * away_.size(), home_domain);
    const std::vector<bool>& shared = away_[domain]->shared;
    for (std::size_t tensor = 0; tensor < present_.size(); tensor++) {
        const bool is_shared = tensor < shared.size() && shared[tensor];
        unsigned* const memory_of = &memory_of_[tensor * away_.size()];
        memory_of[domain] = is_shared ? memory_of[source] : domain;
        has_copies_ |= !is_shared && !model_->tensors()[tensor].is_constant();
    }
}

/// Returns the domains that use the same memory for the tensor as `domain`, one bit each.
std::uint64_t UnitInference::domains_with(std::uint32_t tensor, unsigned domain) const {
    if (memory_of_.empty())
        return std::uint64_t{1} << domain;
    const unsigned* const memory_of = &memory_of_[tensor * away_.size()];
    std::uint64_t domains = 0;
    for (std::uint64_t rest = domains_; rest != 0; rest &= rest - 1) {
        const auto other = static_cast<unsigned>(std::countr_zero(rest));
        if (memory_of[other] == memory_of[domain])
            domains |= std::uint64_t{1} << other;
    }
    return domains;
}

UnitInference::~UnitInference() {
    for (unsigned domain = 0; domain < away_.size(); domain++)
        if (away_[domain])
            model_->give_back(domain, std::move(away_[domain]));
}

const SegmentWork& UnitInference::work(unsigned domain) const noexcept {
    if (domain == home_domain)
        return *home_;
    return away_[domain]->execution;
}

std::span<std::byte> UnitInference::bytes_of(std::uint32_t tensor, unsigned domain) const {
    return coordination::bytes_of(domain == home_domain
                                      ? home_->places()[tensor]
                                      : away_[domain]->execution.places()[tensor]);
}

/// Copies the tensor from a domain that has it.  The caller holds copies_.
void UnitInference::copy(std::uint32_t tensor, unsigned domain) {
    const auto from = static_cast<unsigned>(std::countr_zero(present_[tensor]));
    const std::span<const std::byte> bytes = bytes_of(tensor, from);
    if (!bytes.empty())
        std::memcpy(bytes_of(tensor, domain).data(), bytes.data(), bytes.size());
    model_->copied_bytes_ += bytes.size();
    present_[tensor] |= domains_with(tensor, domain);
}

bool UnitInference::is_written_by(std::uint64_t units, std::uint32_t tensor) const {
    for (std::uint64_t rest = units; rest != 0; rest &= rest - 1) {
        const UnitTable::Unit& unit =
            model_->table().units[static_cast<std::size_t>(std::countr_zero(rest))];
        if (std::ranges::find(unit.writes, tensor) != unit.writes.end())
            return true;
    }
    return false;
}

void UnitInference::bring(std::size_t unit, unsigned domain, std::uint64_t made_there) {
    if (away_.size() == 1)
        return;
    const std::uint64_t there = std::uint64_t{1} << domain;
    const std::lock_guard lock(copies_);
    for (const std::uint32_t tensor : model_->table().units[unit].reads)
        if (!(present_[tensor] & there) && !is_written_by(made_there, tensor))
            copy(tensor, domain);
}

void UnitInference::note_written(std::size_t unit, unsigned domain) {
    if (away_.size() == 1)
        return;
    const std::lock_guard lock(copies_);
    for (const std::uint32_t tensor : model_->table().units[unit].writes)
        present_[tensor] = domains_with(tensor, domain);
}

std::int32_t UnitInference::compute(const UnitTable::Work& work, HostCore& core) {
    for (std::size_t segment = work.segment; segment < work.segment + work.count; segment++) {
        std::int32_t status;
        if (home_->plan().segments()[segment].on_bpu()) {
            status = home_->execute(segment, core);
        } else {
            const std::lock_guard lock(cpu_);
            status = home_->compute(segment);
        }
        if (status != 0)
            return status;
    }
    return 0;
}

void UnitInference::fill() {
    home_->compute(home_->fill_segment());
}

void UnitInference::drain() {
    if (has_copies_) {
        const std::lock_guard lock(copies_);
        for (const std::uint32_t tensor : model_->model().outputs())
            if (!(present_[tensor] & 1u))
                copy(tensor, home_domain);
    }
    home_->compute(home_->drain_segment());
}

} // namespace overtake::coordination
